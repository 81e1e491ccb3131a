// Package admission completes pods that ask for devices, so that a kubelet and this scheduler know what
// to do with them, and refuses when an object is applied what the scheduler would refuse later. How pods
// ask is defined in package requests; nothing here knows a resource by its name.
package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/grouping"
	"tephra.sh/volcano/probes"
	"tephra.sh/volcano/requests"
)

// Take says which pods of the default scheduler are handed to ours.
type Take string

const (
	TakeNone  Take = "none"
	TakeParts Take = "parts" // pods that ask for a part of a device, which no other scheduler can give
	TakeAll   Take = "all"   // pods that ask for devices
)

// Options are what the administrator chose.
type Options struct {
	SchedulerName string
	Take          Take
	// Of pods that ask for devices and name none; empty: they stay without.
	RuntimeClass string
	// Write the default number of devices beside a part of one, for quotas and tools that count them.
	WriteCounts bool
	// Pods of other schedulers may ask for slots, each of which is a whole GPU that the node plugin reserves for them.
	AllowForeignSlots bool
	// Write the PodGroup into pods whose framework makes none, for a scheduler that makes such PodGroups (package grouping).
	PodGroups bool
	Devices   *requests.Table

	work *probes.Work // the reviews under way, once there is a handler
}

// Clusters of which one is enough for a pod to make sense: which nodes there are may change until it is
// placed. What is cut comes first, its refusals say most.
var clusters = []*requests.Cluster{
	{Cuts: always, Serves: func() bool { return true }, TimeSlice: func() int32 { return annotations.WholeGPU / 2 }},
	{Advertised: func(corev1.ResourceName) bool { return true }},
	{},
}

func always(string) bool { return true }

// read is what the containers ask for, init containers first, or why that makes no sense on any cluster.
func (o *Options) read(pod *corev1.Pod) ([]requests.Ask, *requests.Refusal) {
	var first *requests.Refusal
	for _, cluster := range clusters {
		asks, wrong := o.Devices.Containers(pod, cluster)
		if wrong == nil {
			wrong = o.Devices.Annotated(pod, asks)
		}
		if wrong == nil {
			return asks, nil
		}
		if first == nil {
			first = wrong
		}
	}
	return nil, first
}

// byDefault: the pod names no scheduler of its own.
func byDefault(pod *corev1.Pod) bool {
	return pod.Spec.SchedulerName == corev1.DefaultSchedulerName || pod.Spec.SchedulerName == ""
}

// ours: the pod is for our scheduler, or will be once it is completed.
func (o *Options) ours(pod *corev1.Pod, asks []requests.Ask) bool {
	switch {
	case pod.Spec.SchedulerName == o.SchedulerName:
		return true
	case !byDefault(pod):
		return false
	}
	for i := range asks {
		if asks[i].Count != 0 && (o.Take == TakeAll || o.Take == TakeParts && !asks[i].Whole()) {
			return true
		}
	}
	return false
}

// Check refuses the pod if it is ours and asks for what contradicts itself or is not understood.
func (o *Options) Check(pod *corev1.Pod) *requests.Refusal {
	asks, wrong := o.read(pod)
	if wrong == nil {
		return o.checkSlots(pod, asks)
	}
	// A request that makes no sense may be for a part: the pod is refused, too, because no other scheduler gives parts.
	if o.ours(pod, asks) || byDefault(pod) && o.Take != TakeNone {
		return wrong
	}
	return o.checkSlots(pod, nil)
}

// checkSlots refuses slots that the pod did not get from us.
func (o *Options) checkSlots(pod *corev1.Pod, asks []requests.Ask) *requests.Refusal {
	if !o.ours(pod, asks) {
		if o.AllowForeignSlots {
			return nil
		}
		asks = nil
	}
	return o.Devices.CheckSlots(pod, asks)
}

// Complete adds what the pod leaves unsaid, and tells whether that was anything. A pod that is refused
// stays as it is.
func (o *Options) Complete(pod *corev1.Pod) bool {
	asks, wrong := o.read(pod)
	if wrong != nil || !o.ours(pod, asks) {
		return false
	}
	changed := o.PodGroups && grouping.Assign(pod)
	some := false
	for i, container := range containersOf(pod) {
		if i >= len(asks) || asks[i].Count == 0 {
			continue
		}
		some = true
		if o.WriteCounts {
			if name, count := o.Devices.Unsaid(container); count > 0 {
				changed = want(container, name, count) || changed
			}
		}
		if slot := o.Devices.Slot(); slot != "" {
			changed = want(container, slot, 1) || changed
		}
	}
	if !some {
		return changed
	}
	if pod.Spec.SchedulerName != o.SchedulerName {
		pod.Spec.SchedulerName, changed = o.SchedulerName, true
	}
	if o.RuntimeClass != "" && pod.Spec.RuntimeClassName == nil {
		name := o.RuntimeClass
		pod.Spec.RuntimeClassName, changed = &name, true
	}
	return changed
}

// containersOf are in the order of requests.Table.Containers.
func containersOf(pod *corev1.Pod) []*corev1.Container {
	var out []*corev1.Container
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	return out
}

// want makes the container ask for so many of an extended resource, of which request and limit are
// equal. What it asks for itself stays.
func want(container *corev1.Container, name corev1.ResourceName, count int64) bool {
	if _, given := container.Resources.Limits[name]; given {
		return false
	}
	quantity := *resource.NewQuantity(count, resource.DecimalSI)
	for _, list := range []*corev1.ResourceList{&container.Resources.Limits, &container.Resources.Requests} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = quantity
	}
	return true
}

// Sentence is the refusal as people read it, of a pod that stands at `where` in its object.
func Sentence(where string, wrong *requests.Refusal) string {
	return fmt.Sprintf("%s%s: %s, expected %s", where, wrong.Field, wrong.Value, wrong.Expected)
}
