package whole

import (
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/annotations"
)

const (
	slicesKey   = annotations.SlicesKey
	nodeCount   = 3
	gpusPerNode = 4
	jobLabel    = "job"
)

// container is what runs on a node for one pod.
type container struct {
	key     string // of the pod
	devices map[int]int32
	over    bool // it has ended by itself
}

// kubelet is a node with its kubelet and tephra-node: it follows the pods that are bound to it.
type kubelet struct {
	world      *World
	number     int
	name       string
	containers map[types.UID]*container
	boots      int
}

func (k *kubelet) down() bool { return k.world.active(NodeDown, k.number) != nil }

// register creates the node.
func (k *kubelet) register() error {
	node, err := sink.GPUNode(k.name, gpusPerNode)
	if err != nil {
		return err
	}
	// tephra-node offers slots for parts of GPUs. Capacity and Allocatable are one map.
	node.Status.Capacity["volcano.sh/vgpu-number"] = *resource.NewQuantity(10*gpusPerNode, resource.DecimalSI)
	_, wrong := k.world.api.create("nodes", node)
	if wrong != nil {
		return wrong
	}
	return nil
}

// tell publishes a moment later how the node is.
func (k *kubelet) tell(late bool) {
	delay := k.world.between(k.name+" tells", 100*time.Millisecond, time.Second)
	if late {
		delay += 5 * time.Second // the node controller waits before it says that a node is not ready
	}
	k.world.after(delay, func() {
		k.world.api.edit(keyOf("nodes", "", k.name), func(object runtime.Object) {
			node := object.(*core.Node)
			node.Status.Conditions[0].Status = core.ConditionTrue
			if k.down() {
				node.Status.Conditions[0].Status = core.ConditionUnknown
			}
			var devices []annotations.Device
			for i := range gpusPerNode {
				f := k.world.active(UnhealthyGPU, k.number)
				devices = append(devices, annotations.Device{UUID: sink.DeviceUUID(k.name, i), Model: "NVIDIA H100 80GB HBM3",
					MemoryMiB: sink.DeviceMemoryMiB, Healthy: f == nil || int(f.Value)%gpusPerNode != i})
			}
			if text, err := annotations.FormatInventory(devices); err == nil {
				node.Annotations[annotations.InventoryKey] = text
			}
		})
	})
	for key := range k.world.api.objects { // what the kubelet has missed; each has a delay by its own name
		k.look(key)
	}
}

// look makes the kubelet look at a pod, a moment later.
func (k *kubelet) look(key string) {
	pod, is := k.world.api.get(key).(*core.Pod)
	if !is && !k.runs(key) || is && pod.Spec.NodeName != k.name && !k.runs(key) {
		return
	}
	k.world.after(k.world.between(k.name+" looks at "+key, 5*time.Millisecond, 300*time.Millisecond), func() { k.sync(key) })
}

func (k *kubelet) runs(key string) bool {
	for _, c := range k.containers {
		if c.key == key {
			return true
		}
	}
	return false
}

// sync brings what runs in line with the pod.
func (k *kubelet) sync(key string) {
	w := k.world
	if f := w.active(NodeDown, k.number); f != nil {
		w.after(f.At+f.For-w.now()+w.between(k.name+" later "+key, 1000, 300_000_000), func() { k.sync(key) })
		return
	}
	pod, _ := w.api.get(key).(*core.Pod)
	for uid, c := range k.containers {
		if c.key == key && (pod == nil || pod.UID != uid || pod.Spec.NodeName != k.name || ended(pod)) {
			delete(k.containers, uid)
		}
	}
	if pod == nil || pod.Spec.NodeName != k.name || ended(pod) {
		return
	}
	running := k.containers[pod.UID]
	switch {
	case pod.DeletionTimestamp != nil:
		uid := pod.UID
		w.after(w.between(k.name+" stops "+key, 100*time.Millisecond, 3*time.Second), func() { k.finish(key, uid) })
	case running == nil:
		k.start(key, pod)
	case running.over:
		w.api.edit(key, func(object runtime.Object) { object.(*core.Pod).Status.Phase = core.PodSucceeded })
	}
}

// finish ends a pod that is being deleted.
func (k *kubelet) finish(key string, uid types.UID) {
	if k.down() {
		k.sync(key)
		return
	}
	delete(k.containers, uid)
	zero := int64(0)
	options := metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &uid}}
	if pod, _ := k.world.api.get(key).(*core.Pod); pod != nil && pod.UID == uid {
		_, _ = k.world.api.remove("pods", key, options)
	}
}

// start gives the pod its devices, as tephra-node does: those of its annotation, once no other container has them.
func (k *kubelet) start(key string, pod *core.Pod) {
	w := k.world
	devices, err := devicesOf(pod)
	if err != nil {
		w.breaks("no device twice", "%s: %v", key, err)
		return
	}
	for _, other := range k.containers {
		for index, share := range other.devices {
			if devices[index] != 0 && devices[index]+share > annotations.WholeGPU {
				w.after(w.between(k.name+" waits for "+key, 500*time.Millisecond, 1500*time.Millisecond), func() { k.sync(key) })
				return
			}
		}
	}
	k.containers[pod.UID] = &container{key: key, devices: devices}
	uid, boot := pod.UID, k.boots
	w.api.edit(key, func(object runtime.Object) {
		p := object.(*core.Pod)
		p.Status.Phase = core.PodRunning
		started := metav1.NewTime(w.began.Add(w.now()).Truncate(1e9))
		p.Status.StartTime = &started
	})
	w.after(w.runFor(pod), func() {
		if c := k.containers[uid]; c != nil && k.boots == boot {
			c.over = true
			k.sync(key)
		}
	})
}

// reboot ends all containers; their pods fail.
func (k *kubelet) reboot() {
	k.boots++
	for _, c := range sortedBy(k.containers, func(c *container) string { return c.key }) {
		k.world.after(k.world.between(k.name+" has rebooted "+c.key, time.Second, 3*time.Second), func() {
			k.world.api.edit(c.key, func(object runtime.Object) {
				if pod := object.(*core.Pod); pod.Spec.NodeName == k.name && !ended(pod) {
					pod.Status.Phase = core.PodFailed
				}
			})
		})
	}
	k.containers = map[types.UID]*container{}
}

// devicesOf is how much of each device the pod's annotation gives it, in per mille.
func devicesOf(pod *core.Pod) (map[int]int32, error) {
	text := pod.Annotations[slicesKey]
	if text == "" {
		return nil, fmt.Errorf("bound without devices")
	}
	containers, err := annotations.ParseSlices(text)
	if err != nil {
		return nil, err
	}
	out := map[int]int32{}
	for _, of := range containers {
		for _, slice := range of.Slices {
			if slice.Mode == annotations.Whole {
				slice.Compute = annotations.WholeGPU
			}
			out[slice.Index] += slice.Compute
		}
	}
	return out, nil
}
