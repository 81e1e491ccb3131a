package requests

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Slots are how many slots each container asks for, init containers first.
func (t *Table) Slots(pod *corev1.Pod) []int64 {
	name := t.Slot()
	var out []int64
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			quantity, given := list[i].Resources.Limits[name]
			if !given {
				quantity = list[i].Resources.Requests[name]
			}
			out = append(out, quantity.Value())
		}
	}
	return out
}

// CheckSlots refuses slots that are not for devices: a container that asks for devices has one slot, by which the
// node plugin finds it, and any other container has none. A slot counts for no quota, and a node that has no slots left
// starts no container with devices. REQUIRES: the asks are those of the pod, or nil if its scheduler is not ours.
func (t *Table) CheckSlots(pod *corev1.Pod, asks []Ask) *Refusal {
	for i, slots := range t.Slots(pod) {
		expected := "none in a pod of another scheduler"
		most := int64(0)
		if i < len(asks) {
			expected = "none in a container that asks for no devices"
			if asks[i].Count != 0 {
				most, expected = 1, "1, for all devices of the container"
			}
		}
		if slots > most {
			return &Refusal{t.slotField(pod, i), fmt.Sprint(slots), expected}
		}
	}
	return nil
}

func (t *Table) slotField(pod *corev1.Pod, container int) string {
	list := "containers"
	if container < len(pod.Spec.InitContainers) {
		list = "initContainers"
	} else {
		container -= len(pod.Spec.InitContainers)
	}
	return fmt.Sprintf("spec.%s[%d].resources.limits[%s]", list, container, t.Slot())
}
