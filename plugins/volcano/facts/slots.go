package facts

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/tephrav1"
)

// A node that does not know slots at all, because no node plugin runs there, is limited by none.
const unlimitedSlots = int64(1) << 20

// addSlots adds the slots of a node without a node plugin. Slots that the node does have are among its amounts.
func addSlots(amounts []*tephrav1.Amount, node *corev1.Node, k *kinds) []*tephrav1.Amount {
	name := k.words.table.Slot()
	if _, given := node.Status.Allocatable[name]; given || name == "" || !k.words.counted(name) {
		return amounts
	}
	kind, known := k.number(name, false)
	if !known {
		return amounts
	}
	at, _ := slices.BinarySearchFunc(amounts, kind, func(a *tephrav1.Amount, kind uint32) int { return int(a.Kind) - int(kind) })
	return slices.Insert(amounts, at, &tephrav1.Amount{Kind: kind, Amount: unlimitedSlots})
}

// slotsAspect is the aspect of a pod's problems under which slots stand that the scheduler did not give it.
const slotsAspect = "slots"

// noteSlots: a bound pod that the scheduler gave no slices holds slots that its node then lacks. They are charged
// like whatever else a foreign pod holds.
func (f *Feed) noteSlots(p *pod) {
	var wrong *fault
	if bound(p.obj) && p.given.Slices == "" {
		var sum int64
		for _, slots := range f.options.Devices.Slots(p.obj) {
			sum += slots
		}
		if sum > 0 {
			wrong = &fault{"resources.limits[" + string(f.options.Devices.Slot()) + "]", strconv.FormatInt(sum, 10),
				"none in a pod that this scheduler did not place; node " + p.obj.Spec.NodeName + " has so many fewer for pods with GPUs"}
		}
	}
	f.note(p.object(), slotsAspect, "", wrong)
}
