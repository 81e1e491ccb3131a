package churn

import (
	"fmt"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"tephra.sh/lab/e2e"
)

// wholeGPU is the compute share of a whole device, in per mille.
const wholeGPU = 1000

type device struct {
	node  string
	index int
}

// share is the part of one device that one pod holds.
type share struct {
	whole              bool
	compute, memoryMiB int64
}

// Devices follows which pod holds which part of which GPU. It takes pods in the order in which the API
// server changed them, so that two pods on one device overlap exactly if both are in here at once.
type Devices struct {
	memoryMiB int64 // of each device
	holders   map[device]map[types.UID]share
	holds     map[types.UID]string // the annotation of each pod that holds something, or has
}

// NewDevices is a cluster in which no pod holds anything.
func NewDevices(memoryMiB int64) *Devices {
	return &Devices{memoryMiB, map[device]map[types.UID]share{}, map[types.UID]string{}}
}

// Observe takes the pod as it is now, or that it is gone, and returns what must not be.
func (d *Devices) Observe(pod *core.Pod, gone bool) (faults []string) {
	over := gone || pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed
	text, known := d.holds[pod.UID]
	at := fmt.Sprintf("pod %s on %s", pod.Name, pod.Spec.NodeName)
	switch {
	case pod.Spec.NodeName == "":
		return nil
	case over && known:
		d.release(pod)
	case known && text != pod.Annotations[e2e.SlicesKey]:
		faults = append(faults, fmt.Sprintf("%s: its slices changed from %s to %s", at, text, pod.Annotations[e2e.SlicesKey]))
	case !known && !over:
		faults = d.take(pod, at)
	}
	if gone {
		delete(d.holds, pod.UID)
	}
	return faults
}

func (d *Devices) take(pod *core.Pod, at string) (faults []string) {
	text := pod.Annotations[e2e.SlicesKey]
	d.holds[pod.UID] = text
	shares, err := sharesOf(pod)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", at, err)}
	}
	if asked := gpusAsked(pod); int64(len(shares)) != asked {
		faults = append(faults, fmt.Sprintf("%s: bound with parts of %d GPUs, asks for %d", at, len(shares), asked))
	}
	for on, mine := range shares {
		if d.holders[on] == nil {
			d.holders[on] = map[types.UID]share{}
		}
		d.holders[on][pod.UID] = mine
		if wrong := d.tooMuch(on); wrong != "" {
			faults = append(faults, fmt.Sprintf("%s: GPU %d given twice: %s", at, on.index, wrong))
		}
	}
	return faults
}

// tooMuch says why the device's holders cannot have what they have; "" where they can.
func (d *Devices) tooMuch(on device) string {
	var compute, memory int64
	whole := 0
	for _, held := range d.holders[on] {
		compute += held.compute
		memory += held.memoryMiB
		if held.whole {
			whole++
		}
	}
	switch users := len(d.holders[on]); {
	case whole > 0 && users > 1:
		return fmt.Sprintf("%d pods, one of which has it whole", users)
	case compute > wholeGPU:
		return fmt.Sprintf("%d of %d per mille of its compute", compute, wholeGPU)
	case memory > d.memoryMiB:
		return fmt.Sprintf("%d of %d MiB of its memory", memory, d.memoryMiB)
	}
	return ""
}

func (d *Devices) release(pod *core.Pod) {
	for on, users := range d.holders {
		if on.node == pod.Spec.NodeName {
			delete(users, pod.UID)
		}
	}
}

// sharesOf are the parts that the pod's annotation names.
func sharesOf(pod *core.Pod) (map[device]share, error) {
	shares := map[device]share{}
	if pod.Annotations[e2e.SlicesKey] == "" {
		return shares, nil
	}
	slices, err := e2e.SlicesOf(pod)
	for _, slice := range slices {
		on := device{pod.Spec.NodeName, slice.Index}
		sum := shares[on]
		sum.whole = sum.whole || slice.Mode == "whole"
		sum.compute += int64(slice.Compute)
		sum.memoryMiB += int64(slice.MemoryMiB)
		shares[on] = sum
	}
	return shares, err
}

func gpusAsked(pod *core.Pod) (sum int64) {
	for _, container := range pod.Spec.Containers {
		for _, name := range []core.ResourceName{e2e.GPU, e2e.VGPUNumber} {
			amount := container.Resources.Limits[name]
			sum += amount.Value()
		}
	}
	return sum
}
