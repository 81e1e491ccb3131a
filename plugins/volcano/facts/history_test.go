package facts

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"tephra.sh/volcano/annotations"
)

// history changes a cluster at random. Objects of a kind are few, so that names repeat.
type history struct {
	*rand.Rand
	nodes  map[string]*corev1.Node
	queues map[string]*schedulingv1beta1.Queue
	groups map[string]*schedulingv1beta1.PodGroup
	jobs   map[string]*batchv1alpha1.Job
	pods   map[string]*corev1.Pod
	prios  map[string]*schedulingv1.PriorityClass
	hypers map[string]*topologyv1alpha1.HyperNode
	pdbs   map[string]*policyv1.PodDisruptionBudget
	serial int
}

func newHistory(seed uint64) *history {
	return &history{Rand: rand.New(rand.NewPCG(seed, 1)), nodes: map[string]*corev1.Node{},
		queues: map[string]*schedulingv1beta1.Queue{}, groups: map[string]*schedulingv1beta1.PodGroup{},
		jobs: map[string]*batchv1alpha1.Job{}, pods: map[string]*corev1.Pod{},
		prios: map[string]*schedulingv1.PriorityClass{}, hypers: map[string]*topologyv1alpha1.HyperNode{},
		pdbs: map[string]*policyv1.PodDisruptionBudget{}}
}

// cluster is where the changes go.
type cluster interface {
	put(object any)
	remove(object any)
}

func (h *history) name(prefix string, most int) string { return prefix + strconv.Itoa(h.IntN(most)) }

func (h *history) uid(name string) string {
	h.serial++
	return name + "-" + strconv.Itoa(h.serial)
}

func (h *history) step(to cluster) {
	switch what := h.IntN(100); {
	case what < 10:
		step(h, to, h.nodes, h.name("node", 5), h.node)
	case what < 14:
		step(h, to, h.queues, h.name("queue", 3), h.queue)
	case what < 16:
		step(h, to, h.prios, h.name("prio", 2), h.prio)
	case what < 18:
		step(h, to, h.hypers, h.name("rack", 3), h.hyper)
	case what < 20:
		step(h, to, h.pdbs, h.name("budget", 3), h.pdb)
	case what < 28:
		step(h, to, h.jobs, h.name("job", 4), h.job)
	case what < 38:
		step(h, to, h.groups, h.name("job", 6), h.group)
	default:
		step(h, to, h.pods, h.name("pod", 20), h.pod)
	}
}

// step removes the object or puts what make says of it in its place.
func step[T any](h *history, to cluster, all map[string]T, name string, make func(name string, before T, is bool) T) {
	before, is := all[name]
	if is && h.IntN(5) == 0 {
		delete(all, name)
		to.remove(before)
		return
	}
	all[name] = make(name, before, is)
	to.put(all[name])
}

func (h *history) node(name string, _ *corev1.Node, _ bool) *corev1.Node {
	return someNode(name, func(node *corev1.Node) {
		node.Spec.Unschedulable = h.IntN(4) == 0
		node.Labels["zone"] = h.name("zone", 2)
		node.Labels["row"] = h.pick("", "rack0", "row1")
		node.Labels["shelf"] = h.pick("", "rack0", "1")
		node.Labels["slot"] = h.pick("", "0", "1")
		node.Labels[productLabel] = "product-of-" + node.Labels["zone"]
		node.Status.Allocatable["example.com/fpga"] = list("n", "4")["n"]
		node.Status.Allocatable["example.com/nic"] = list("n", "2")["n"]
		node.Annotations = map[string]string{}
		devices := make([]annotations.Device, h.IntN(4))
		for d := range devices {
			devices[d] = annotations.Device{UUID: fmt.Sprintf("GPU-%s-%d", name, d), Model: h.name("model", 3),
				MemoryMiB: 80000, Healthy: h.IntN(5) > 0}
			if devices[d].Model == "model2" || h.IntN(20) == 0 {
				devices[d].MemoryMiB = 40000
			}
		}
		if h.IntN(3) == 0 {
			node.Status.Allocatable["nvidia.com/mps-core"] = list("n", "100")["n"]
		}
		if h.IntN(3) == 0 {
			node.Status.Allocatable[slotName] = list("n", h.pick("0", "20"))["n"]
		}
		text, _ := annotations.FormatInventory(devices)
		if h.IntN(8) == 0 {
			text = "broken"
		}
		node.Annotations[annotations.InventoryKey] = text
	})
}

func (h *history) queue(name string, _ *schedulingv1beta1.Queue, _ bool) *schedulingv1beta1.Queue {
	queue := &schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}}
	queue.Spec.Weight = int32(h.IntN(3))
	queue.Spec.Capability = list("cpu", strconv.Itoa(h.IntN(100)), h.pick("memory", "example.com/nic", "nvidia.com/gpu"), "5")
	queue.Spec.Guarantee.Resource = list("cpu", strconv.Itoa(h.IntN(3)), h.pick("memory", "example.com/ib"), "2")
	queue.Spec.Deserved = list("nvidia.com/gpu", strconv.Itoa(h.IntN(3)))
	if queue.Spec.Weight == 1 {
		queue.Spec.Capability["nvidia.com/gpu.model1"] = list("n", "1")["n"]
	}
	queue.Status.State = schedulingv1beta1.QueueState(h.pick("Open", "Closed", ""))
	return queue
}

func (h *history) prio(name string, _ *schedulingv1.PriorityClass, _ bool) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(h.IntN(3)),
		GlobalDefault: h.IntN(2) == 0}
}

func (h *history) hyper(name string, _ *topologyv1alpha1.HyperNode, _ bool) *topologyv1alpha1.HyperNode {
	return someHyperNode(name, h.IntN(2), h.member(), h.member())
}

func (h *history) member() topologyv1alpha1.MemberSpec {
	switch h.IntN(5) {
	case 0:
		return hyperMember(h.name("rack", 3))
	case 1:
		return nodeMember(topologyv1alpha1.MemberSelector{ExactMatch: &topologyv1alpha1.ExactMatch{Name: h.name("node", 5)}})
	case 2:
		return nodeMember(topologyv1alpha1.MemberSelector{RegexMatch: &topologyv1alpha1.RegexMatch{Pattern: h.pick("^node[0-2]$", "node(")}})
	default:
		return nodeMember(topologyv1alpha1.MemberSelector{LabelMatch: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": h.name("zone", 2)}}})
	}
}

func (h *history) pdb(name string, before *policyv1.PodDisruptionBudget, is bool) *policyv1.PodDisruptionBudget {
	if is && h.IntN(2) == 0 {
		after := before.DeepCopy()
		after.Status.DisruptionsAllowed = int32(h.IntN(3))
		after.Status.DisruptedPods = map[string]metav1.Time{h.name("pod", 20): {}}
		return after
	}
	return somePDB(name, map[string]string{"app": h.name("app", 2)}, int32(h.IntN(3)))
}

func (h *history) pick(of ...string) string { return of[h.IntN(len(of))] }

func (h *history) container() corev1.Container {
	c := container("main", "cpu", strconv.Itoa(1+h.IntN(2)))
	switch h.IntN(7) {
	case 0:
		c.Resources.Requests["example.com/fpga"] = list("n", "1")["n"]
	case 1:
		c.Resources.Limits["volcano.sh/vgpu-number"] = list("n", "1")["n"]
		c.Resources.Limits["volcano.sh/vgpu-memory"] = list("n", "1000")["n"]
	case 2:
		c.Ports = []corev1.ContainerPort{{HostPort: 8080}}
	case 3:
		c.Resources.Limits["nvidia.com/gpumem-percentage"] = list("n", "50")["n"]
	case 4:
		if h.IntN(4) == 0 {
			name := corev1.ResourceName(h.pick("nvidia.com/mps-core", "amd.com/gpumem"))
			c.Resources.Limits[name], c.Resources.Requests[name] = list("n", "5")["n"], list("n", "5")["n"]
		}
	case 5:
		slots := list("n", h.pick("1", "4"))["n"]
		c.Resources.Limits["nvidia.com/gpu"], c.Resources.Limits[slotName] = list("n", "1")["n"], slots
		c.Resources.Requests[slotName] = slots
	}
	return c
}

func (h *history) job(name string, before *batchv1alpha1.Job, is bool) *batchv1alpha1.Job {
	if is && h.IntN(2) == 0 {
		after := before.DeepCopy()
		after.Status.State.Phase = batchv1alpha1.JobPhase(h.pick("Running", "Completed", "Pending"))
		return after
	}
	job := someJob(name, taskSpec("worker", int32(1+h.IntN(3)), h.container()))
	if h.IntN(2) == 0 {
		job.Spec.Tasks = append(job.Spec.Tasks, taskSpec("master", 1, h.container()))
	}
	return job
}

func (h *history) group(name string, before *schedulingv1beta1.PodGroup, is bool) *schedulingv1beta1.PodGroup {
	if is && h.IntN(2) == 0 {
		after := before.DeepCopy()
		after.Status.Phase = schedulingv1beta1.PodGroupPhase(h.pick("Pending", "Inqueue", "Running", "Completed"))
		after.Annotations = map[string]string{
			annotations.ReservedRoomKey: h.pick(`{"version":1,"tasks":[{"role":"worker","index":0,"node":"node0"}]}`, "broken"),
			annotations.EvictionsKey:    h.pick("1", "2", "many"),
			annotations.MinRuntimeKey:   h.pick("1m", "soon"),
		}
		return after
	}
	return someGroup(name, int32(1+h.IntN(3)), func(group *schedulingv1beta1.PodGroup) {
		group.UID += "-of-history"
		if h.IntN(3) == 0 {
			group.UID = "another-" + group.UID
		}
		group.Spec.Queue = h.pick("", "queue0", "queue1")
		group.Spec.PriorityClassName = h.pick("", "prio0", "prio1")
		if job := h.jobs[name]; job != nil {
			ownedBy(job)(group)
		}
		if h.IntN(10) == 0 {
			group.Spec.NetworkTopology = &schedulingv1beta1.NetworkTopologySpec{Mode: schedulingv1beta1.NetworkTopologyMode(h.pick("hard", "soft", "near"))}
		}
	})
}

// pod is a new one, or the same a step further in its life.
func (h *history) pod(name string, before *corev1.Pod, is bool) *corev1.Pod {
	if is {
		after := before.DeepCopy()
		switch h.IntN(6) {
		case 0:
			after.Status.Conditions = append(after.Status.Conditions, corev1.PodCondition{Type: "Noise"})
		case 1:
			if after.Spec.NodeName != "" {
				after.Status.Phase = corev1.PodPhase(h.pick("Succeeded", "Failed"))
			}
		case 2:
			after.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		case 3:
			after.Status.StartTime = &metav1.Time{Time: time.Unix(1000, 0)}
			after.Annotations[annotations.LastCheckpointKey] = h.pick("2026-01-31T12:00:00Z", "2026-01-31T13:00:00Z", "now")
			after.Annotations[schedulingv1beta1.PodPreemptable] = h.pick("true", "false", "no one")
			after.Labels[schedulingv1beta1.CooldownTime] = h.pick("1m", "5m", "long")
		default:
			if after.Spec.NodeName == "" && after.DeletionTimestamp == nil {
				on(h.name("node", 5))(after)
				after.Annotations[annotations.SlicesKey] = h.slices(after.Spec.NodeName)
				after.Annotations[annotations.QueueKey] = h.pick("", h.name("queue", 3))
			}
		}
		return after
	}
	return somePod(name, h.name("job", 6), func(pod *corev1.Pod) {
		pod.UID = types.UID("pod-" + h.uid(name))
		pod.Spec.Containers = []corev1.Container{h.container()}
		task(h.pick("worker", "master"), strconv.Itoa(h.IntN(3)))(pod)
		pod.Labels["app"] = h.name("app", 2)
		if h.IntN(4) == 0 {
			pod.Spec.Affinity = apartFrom(h.name("app", 2))
		}
		if h.IntN(4) == 0 {
			pod.Annotations[useModels] = h.name("MODEL", 3)
		}
		if h.IntN(10) == 0 {
			pod.Annotations[h.pick("gpu-fraction", "nvidia.com/use-gpuindexes", "nvidia.com/use-gpuuuid")] = "0.25"
		}
		if pod.Labels["app"] == "app1" {
			pod.Spec.NodeSelector = map[string]string{productLabel: "product-of-zone1"}
		}
		if h.IntN(4) == 0 {
			foreign(pod)
			on(h.name("node", 5))(pod)
		}
	})
}

func (h *history) slices(node string) string {
	if h.IntN(3) == 0 {
		return "broken"
	}
	text, _ := annotations.FormatSlices([]annotations.ContainerSlices{{Name: "main", Slices: []annotations.Slice{
		{UUID: "GPU-" + node + "-0", Index: h.IntN(3), Mode: annotations.Fraction, Compute: 100, MemoryMiB: 1000}}}})
	return text
}

func apartFrom(app string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			TopologyKey:   corev1.LabelHostname}}}}
}

// handlers calls the feed's handlers as informers do.
type handlers struct{ feed *Feed }

func (c handlers) put(object any) {
	f := c.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch typed := object.(type) {
	case *corev1.Node:
		f.setNode(typed)
	case *schedulingv1beta1.Queue:
		f.setQueue(typed)
	case *schedulingv1.PriorityClass:
		f.setPriority(typed)
	case *batchv1alpha1.Job:
		f.setJob(typed)
	case *schedulingv1beta1.PodGroup:
		f.setGroup(typed)
	case *topologyv1alpha1.HyperNode:
		f.setDomain(typed)
	case *policyv1.PodDisruptionBudget:
		f.setDisruptionBudget(typed)
	case *corev1.Pod:
		f.setPod(typed)
	}
}

func (c handlers) remove(object any) {
	f := c.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	switch typed := object.(type) {
	case *corev1.Node:
		f.dropNode(typed)
	case *schedulingv1beta1.Queue:
		f.dropQueue(typed)
	case *schedulingv1.PriorityClass:
		f.dropPriority(typed)
	case *batchv1alpha1.Job:
		f.dropJob(typed)
	case *schedulingv1beta1.PodGroup:
		f.dropGroup(typed)
	case *topologyv1alpha1.HyperNode:
		f.dropDomain(typed)
	case *policyv1.PodDisruptionBudget:
		f.dropDisruptionBudget(typed)
	case *corev1.Pod:
		f.dropPod(typed)
	}
}
