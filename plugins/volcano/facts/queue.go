package facts

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// rootQueue is where Volcano hangs every queue that names no parent.
const rootQueue = "root"

// translateQueue turns a Volcano queue's capability into the engine's limit. GPUs count in per
// mille of a device, whichever way they are asked for: nvidia.com/gpu N is N x 1000,
// volcano.sh/vgpu-cores N is N x 10 (they are hundredths), volcano.sh/vgpu-memory is GPU memory in
// MiB. volcano.sh/vgpu-number counts shares of any size, for which the engine has no kind: it is
// not limited here. Where both nvidia.com/gpu and vgpu-cores are given the smaller one counts.
func translateQueue(queue *schedulingv1beta1.Queue, k *kinds) (*tephrav1.Queue, *fault) {
	out := &tephrav1.Queue{
		Name:     queue.Name,
		Parent:   queue.Spec.Parent,
		Weight:   max(queue.Spec.Weight, 1),
		Priority: queue.Spec.Priority,
		State:    tephrav1.QueueState_QUEUE_STATE_OPEN,
	}
	if out.Parent == "" && queue.Name != rootQueue {
		out.Parent = rootQueue
	}
	switch queue.Status.State {
	case schedulingv1beta1.QueueStateClosed:
		out.State = tephrav1.QueueState_QUEUE_STATE_CLOSED
	case schedulingv1beta1.QueueStateClosing:
		out.State = tephrav1.QueueState_QUEUE_STATE_CLOSING
	}
	limit := map[uint32]int64{}
	for _, name := range sortedKeys(queue.Spec.Capability) {
		amount, wrong := whole(name, queue.Spec.Capability[name], mostOf(name))
		if wrong != nil {
			return nil, wrong.in("spec.capability")
		}
		kind, known := limitedKind(name, k)
		if !known {
			continue
		}
		switch name {
		case wholeGPU:
			amount *= annotations.WholeGPU
		case vgpuCores:
			amount *= 10
		}
		if before, given := limit[kind]; given {
			amount = min(amount, before)
		}
		limit[kind] = amount
	}
	for kind := range limit {
		out.LimitedKinds = append(out.LimitedKinds, kind)
	}
	slices.Sort(out.LimitedKinds)
	for _, kind := range out.LimitedKinds {
		if limit[kind] != 0 {
			out.Limit = append(out.Limit, &tephrav1.Amount{Kind: kind, Amount: limit[kind]})
		}
	}
	return out, nil
}

func mostOf(name corev1.ResourceName) int64 {
	if name == wholeGPU || name == vgpuCores {
		return maxSum / annotations.WholeGPU
	}
	return maxSum
}

func limitedKind(name corev1.ResourceName, k *kinds) (uint32, bool) {
	switch name {
	case wholeGPU, vgpuCores:
		return kindGPU, true
	case vgpuMemory:
		return kindGPUMemory, true
	}
	if isDeviceResource(name) {
		return 0, false
	}
	return k.number(name, true)
}
