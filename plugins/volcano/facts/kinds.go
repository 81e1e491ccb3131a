package facts

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tephra.sh/volcano/tephrav1"
)

// Resource kinds that every engine has, by number.
const (
	kindCPU       = 0 // milli-cores
	kindMemory    = 1 // bytes
	kindPods      = 2
	kindGPU       = 3 // per mille of a device
	kindGPUMemory = 4 // MiB
	firstExtended = 5
	mostExtended  = 11 // the engine's 16 less these five
)

// The most that the engine takes of a kind: for one node or pod, and in all for a queue.
const (
	maxAmount = int64(1) << 50
	maxSum    = int64(1) << 60
)

// kinds are the extended resources that the engine knows by number. Only resources that a pod of
// ours or a queue's limit asks for get a number; what a node has of other resources does not matter to
// the engine. Numbers are given in the order of first asking and stay until Forget.
type kinds struct {
	words *words
	names []string
	left  map[string]bool // asked for, but no number was free: left to Volcano's own predicates
	// On how many nodes each resource is, and how many names pods asked for while no node had them.
	offered map[corev1.ResourceName]int
	absent  int
}

// A pod may ask for any name, and the numbers are for all tenants. So few of them are for resources that no node has: a
// pod that asks for one more of these is a problem of its own object.
const mostAbsent = 4

// offer notes what the node has, or with -1 no longer has; true: no other node has some of it.
func (k *kinds) offer(node *corev1.Node, by int) bool {
	changed := false
	if node == nil {
		return false
	}
	for name, quantity := range node.Status.Allocatable {
		if quantity.IsZero() {
			continue
		}
		changed = changed || k.offered[name] == 0
		if k.offered[name] += by; k.offered[name] == 0 {
			delete(k.offered, name)
			changed = true
		}
	}
	return changed
}

// check counts the name if no node has it. False: there are too many such names.
func (k *kinds) check(name corev1.ResourceName) bool {
	if _, known := k.number(name, false); known || k.offered[name] > 0 || name == k.words.table.Slot() {
		return true // a node without a node plugin has slots for all
	}
	if k.absent == mostAbsent {
		return false
	}
	k.absent++
	return true
}

// number is the kind's number; declare gives it one if it has none. False: the engine does not
// know the kind.
func (k *kinds) number(name corev1.ResourceName, declare bool) (uint32, bool) {
	switch name {
	case corev1.ResourceCPU:
		return kindCPU, true
	case corev1.ResourceMemory:
		return kindMemory, true
	case corev1.ResourcePods:
		return kindPods, true
	}
	if at := slices.Index(k.names, string(name)); at >= 0 {
		return uint32(firstExtended + at), true
	}
	if !declare {
		return 0, false
	}
	if len(k.names) == mostExtended {
		if k.left == nil {
			k.left = map[string]bool{}
		}
		k.left[string(name)] = true
		return 0, false
	}
	k.names = append(k.names, string(name))
	return uint32(firstExtended + len(k.names) - 1), true
}

// amounts are the list's entries that the engine knows by number, zeros left out, by number.
// Devices are not among them. An error names the resource.
func (k *kinds) amounts(list corev1.ResourceList, declare bool) ([]*tephrav1.Amount, *fault) {
	var out []*tephrav1.Amount
	for _, name := range sortedKeys(list) {
		if !k.words.counted(name) {
			continue
		}
		quantity := list[name]
		amount, wrong := whole(name, quantity, maxAmount)
		if wrong != nil {
			return nil, wrong
		}
		if amount == 0 {
			continue
		}
		if declare && !k.check(name) {
			return nil, &fault{string(name), quantity.String(), fmt.Sprintf("a resource that some node has; "+
				"no node has it, and %d other such resources are requested already", mostAbsent)}
		}
		if kind, known := k.number(name, declare); known {
			out = append(out, &tephrav1.Amount{Kind: kind, Amount: amount})
		}
	}
	slices.SortFunc(out, func(a, b *tephrav1.Amount) int { return int(a.Kind) - int(b.Kind) })
	return out, nil
}

// whole is the quantity in the engine's unit of the resource.
func whole(name corev1.ResourceName, quantity resource.Quantity, most int64) (int64, *fault) {
	amount := quantity.Value()
	if name == corev1.ResourceCPU && amount <= most/1000 {
		amount = quantity.MilliValue() // which overflows silently above
	} else if name == corev1.ResourceCPU {
		amount = most + 1
	}
	if amount < 0 || amount > most {
		return 0, &fault{string(name), quantity.String(), fmt.Sprintf("0 to %d", most)}
	}
	return amount, nil
}
