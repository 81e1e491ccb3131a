package requests

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
)

// Annotated reads what the pod's annotations say of devices, and adds it to what its containers ask.
// REQUIRES: asks are those of Containers(pod).
func (t *Table) Annotated(pod *corev1.Pod, asks []Ask) *Refusal {
	var wrong []string
	for key, value := range pod.Annotations {
		if domain, _, has := strings.Cut(key, "/"); has && !t.domains[domain] {
			continue
		}
		if rule := t.keys.of(key); rule != nil && !rule.accepts(value) {
			wrong = append(wrong, key)
		}
	}
	if len(wrong) > 0 {
		first := slices.Min(wrong)
		return annotation(first, pod.Annotations[first], t.keys.of(first).Reason)
	}
	for v := range t.Vendors {
		for i := range t.Vendors[v].AnnotationLanguages {
			if wrong := t.Vendors[v].AnnotationLanguages[i].read(pod, asks); wrong != nil {
				return wrong
			}
		}
	}
	return nil
}

func annotation(key, value, expected string) *Refusal {
	return &Refusal{"metadata.annotations[" + key + "]", strconv.Quote(value), expected}
}

func (r *Rule) accepts(value string) bool {
	if r.Effect != Deny {
		return true
	}
	for _, part := range strings.Split(value, ",") {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(r.Accepted, part) {
			return false
		}
	}
	return true
}

// read follows KAI's rules: one container gets a part, or parts of several devices, and no other asks
// for GPUs. A fraction is of the memory and, as KAI charges it, of the device; an amount of memory
// sets no compute aside.
func (l *AnnotationLanguage) read(pod *corev1.Pod, asks []Ask) *Refusal {
	fraction, byFraction := pod.Annotations[l.Fraction]
	memory, byMemory := pod.Annotations[l.Memory]
	devices, several := pod.Annotations[l.Devices]
	key, value := l.Fraction, fraction
	switch {
	case !byFraction && !byMemory && several:
		return annotation(l.Devices, devices, "none without "+l.Fraction+" or "+l.Memory)
	case !byFraction && !byMemory:
		return nil
	case byFraction && byMemory:
		return annotation(l.Memory, memory, "none beside "+l.Fraction)
	case byMemory:
		key, value = l.Memory, memory
	}
	for _, ask := range asks {
		if ask.Count != 0 {
			return annotation(key, value, "none beside "+ask.field())
		}
	}
	ask := Ask{Count: 1, key: key, value: strconv.Quote(value)}
	if byFraction {
		part, err := strconv.ParseFloat(fraction, 64)
		// What is said in decimals is not quite so in binary: 0.289 x 1000 is less than 289.
		perMille := math.Floor(part*annotations.WholeGPU + 1e-6)
		if err != nil || !(perMille >= 1 && part < 1) {
			return annotation(key, value, "a number from 0.001 to below 1; whole devices are asked for as nvidia.com/gpu")
		}
		ask.Compute = int32(min(perMille, annotations.WholeGPU-1))
		ask.MemoryPerMille = ask.Compute
	} else {
		mib, err := strconv.ParseInt(memory, 10, 32)
		if err != nil || mib < 1 || mib > annotations.MaxDeviceMemoryMiB {
			return annotation(key, value, fmt.Sprintf("1 to %d, in MiB", annotations.MaxDeviceMemoryMiB))
		}
		ask.MemoryMiB = int32(mib)
	}
	if several {
		count, err := strconv.ParseInt(devices, 10, 32)
		if err != nil || count < 1 || count > annotations.MaxDevices {
			return annotation(l.Devices, devices, fmt.Sprintf("1 to %d", annotations.MaxDevices))
		}
		ask.Count = int32(count)
	}
	at := len(pod.Spec.InitContainers) // the first one that is no init container
	if name, given := pod.Annotations[l.Container]; given {
		named := func(c corev1.Container) bool { return c.Name == name }
		at = slices.IndexFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), named)
		if at < 0 {
			return annotation(l.Container, name, "a container of the pod")
		}
	}
	if at < len(asks) { // a pod that is only guessed may have no containers
		asks[at] = ask
	}
	return nil
}
