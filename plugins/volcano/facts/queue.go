package facts

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/tephrav1"
)

// rootQueue is where Volcano hangs every queue that names no parent.
const rootQueue = "root"

// translateQueue turns a Volcano queue into the engine's: its capability is the limit. GPUs count in
// per mille of a device, whichever way they are asked for: nvidia.com/gpu N is N x 1000,
// volcano.sh/vgpu-cores N is N x 10 (they are hundredths), volcano.sh/vgpu-memory is GPU memory in
// MiB. volcano.sh/vgpu-number counts shares of any size, for which the engine has no kind: it is
// left out here. Where both nvidia.com/gpu and vgpu-cores are given, the smaller limit and the larger
// guarantee count. nvidia.com/gpu.MODEL N is N x 1000 of the GPUs of that model, which the engine has a
// kind for as soon as a queue names it.
func translateQueue(queue *schedulingv1beta1.Queue, k *kinds) (*tephrav1.Queue, *fault) {
	out := &tephrav1.Queue{
		Name:           queue.Name,
		Parent:         queue.Spec.Parent,
		Weight:         max(queue.Spec.Weight, 1),
		Priority:       queue.Spec.Priority,
		State:          tephrav1.QueueState_QUEUE_STATE_OPEN,
		NotReclaimable: queue.Spec.Reclaimable != nil && !*queue.Spec.Reclaimable,
		Fifo:           queue.Spec.DequeueStrategy == schedulingv1beta1.DequeueStrategyFIFO,
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
	limit, wrong := queueAmounts(queue.Spec.Capability, k, smaller)
	if wrong != nil {
		return nil, wrong.in("spec.capability")
	}
	guarantee, wrong := queueAmounts(queue.Spec.Guarantee.Resource, k, larger)
	if wrong != nil {
		return nil, wrong.in("spec.guarantee.resource")
	}
	deserved, wrong := queueAmounts(queue.Spec.Deserved, k, larger)
	if wrong != nil {
		return nil, wrong.in("spec.deserved")
	}
	out.LimitedKinds = sortedKeys(limit)
	out.Limit, out.Guarantee, out.Deserved = sparse(limit), sparse(guarantee), sparse(deserved)
	return out, nil
}

// mostEvictionDelay is the longest delay that the engine takes.
const mostEvictionDelay = 10_000 * 24 * time.Hour

// evictionDelay is how long jobs of the queue and below it wait before pods are evicted for them, in ms.
func evictionDelay(queue *schedulingv1beta1.Queue) (int64, *fault) {
	text, given := queue.Annotations[annotations.EvictionDelayKey]
	if !given {
		return 0, nil
	}
	delay, err := annotations.ParseDuration(annotations.EvictionDelayKey, text)
	if err != nil {
		return 0, annotationFault(err)
	}
	return min(delay, mostEvictionDelay).Milliseconds(), nil
}

func smaller(a, b int64) int64 { return min(a, b) }
func larger(a, b int64) int64  { return max(a, b) }

// queueAmounts are the list's entries by kind, zeros included; both decides where two name one kind.
func queueAmounts(list corev1.ResourceList, k *kinds, both func(a, b int64) int64) (map[uint32]int64, *fault) {
	out := map[uint32]int64{}
	for _, name := range sortedKeys(list) {
		unit := queueUnit(name, k)
		amount, wrong := whole(name, list[name], maxSum/unit)
		if wrong != nil {
			return nil, wrong
		}
		kind, known := queueKind(name, k)
		if !known {
			continue
		}
		amount *= unit
		if before, given := out[kind]; given {
			amount = both(amount, before)
		}
		out[kind] = amount
	}
	return out, nil
}

func sparse(amounts map[uint32]int64) (out []*tephrav1.Amount) {
	for _, kind := range sortedKeys(amounts) {
		if amounts[kind] != 0 {
			out = append(out, &tephrav1.Amount{Kind: kind, Amount: amounts[kind]})
		}
	}
	return out
}

// queueUnit is one of the resource in the engine's unit.
func queueUnit(name corev1.ResourceName, k *kinds) int64 {
	if countsGPUs(name) {
		return annotations.WholeGPU
	}
	role, unit := k.words.table.Role(name)
	if role == requests.Cores {
		return annotations.WholeGPU / 100
	}
	return unit
}

func queueKind(name corev1.ResourceName, k *kinds) (uint32, bool) {
	role, _ := k.words.table.Role(name)
	switch {
	case name == wholeGPU || role == requests.Cores:
		return kindGPU, true
	case role == requests.Memory:
		return kindGPUMemory, true
	case !k.words.counted(name):
		return 0, false
	}
	if model := modelOf(name); model != "" {
		return k.number(corev1.ResourceName(modelKind+model), true)
	}
	return k.number(name, true)
}

func countsGPUs(name corev1.ResourceName) bool { return name == wholeGPU || modelOf(name) != "" }

// modelKind is what the engine's kinds of one GPU model begin with. No resource of Kubernetes does:
// resources that are not its own have a domain before their name.
const modelKind = "gpu."

// modelOf is the GPU model that a queue's resource counts: H100 of nvidia.com/gpu.H100; empty: none.
// nvidia.com/gpu.shared is what NVIDIA's device plugin calls time slices, and pods ask for it.
func modelOf(name corev1.ResourceName) string {
	model, found := strings.CutPrefix(string(name), string(wholeGPU)+".")
	if !found || model == "shared" {
		return ""
	}
	return model
}
