package sink

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
)

// Namespace is where the objects made here live.
const Namespace = "bench"

// DeviceMemoryMiB is the memory of each GPU of a GPUNode.
const DeviceMemoryMiB = 80 << 10

const gpuResource = "nvidia.com/gpu"

// created is when everything made here was: names decide every order.
var created = metav1.Unix(1767225600, 0)

// GPUNode is a ready node with an inventory of healthy GPUs of 80 GiB, 12 cores and 120 GiB of
// memory for each of them.
func GPUNode(name string, gpus int) (*corev1.Node, error) {
	var devices []annotations.Device
	for i := range gpus {
		devices = append(devices, annotations.Device{UUID: DeviceUUID(name, i),
			Model: "NVIDIA H100 80GB HBM3", MemoryMiB: DeviceMemoryMiB, Healthy: true})
	}
	inventory, err := annotations.FormatInventory(devices)
	if err != nil {
		return nil, err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(strconv.Itoa(12 * gpus)),
		corev1.ResourceMemory: resource.MustParse(strconv.Itoa(120*gpus) + "Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
		gpuResource:           resource.MustParse(strconv.Itoa(gpus)),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), CreationTimestamp: created,
			Labels:      map[string]string{corev1.LabelHostname: name},
			Annotations: map[string]string{annotations.InventoryKey: inventory}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}, nil
}

// DeviceUUID is that of a GPU of a GPUNode.
func DeviceUUID(node string, index int) string { return fmt.Sprintf("GPU-%s-%d", node, index) }

// Queue is an open queue without a limit.
func Queue(name string) *schedulingv1beta1.Queue {
	return &schedulingv1beta1.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("queue-" + name), CreationTimestamp: created},
		Spec:       schedulingv1beta1.QueueSpec{Weight: 1},
		Status:     schedulingv1beta1.QueueStatus{State: schedulingv1beta1.QueueStateOpen},
	}
}

// Gang is a pod group that its controller has made the pods of, all of which must start together.
func Gang(name, queue string, members int, each corev1.ResourceList) (*schedulingv1beta1.PodGroup, []*corev1.Pod) {
	group := &schedulingv1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, UID: types.UID("group-" + name),
			CreationTimestamp: created},
		Spec:   schedulingv1beta1.PodGroupSpec{MinMember: int32(members), Queue: queue},
		Status: schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupInqueue},
	}
	var pods []*corev1.Pod
	for i := range members {
		pods = append(pods, pod(fmt.Sprintf("%s-%d", name, i), name, each))
	}
	return group, pods
}

// GPUs is a pod's request for whole GPUs, with 4 cores and 16 GiB of memory for each.
func GPUs(count int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(4*count), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(count)<<34, resource.BinarySI),
		gpuResource:           *resource.NewQuantity(int64(count), resource.DecimalSI),
	}
}

// Cores is a pod's request for processor cores alone.
func Cores(count int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(count, resource.DecimalSI)}
}

func pod(name, group string, requests corev1.ResourceList) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, UID: types.UID("pod-" + name),
			CreationTimestamp: created,
			Annotations:       map[string]string{schedulingv1beta1.KubeGroupNameAnnotationKey: group}},
		Spec: corev1.PodSpec{
			SchedulerName: SchedulerName,
			Containers: []corev1.Container{{Name: "main", Image: "main",
				Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}
