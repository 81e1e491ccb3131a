package e2e

import (
	"encoding/json"
	"fmt"

	core "k8s.io/api/core/v1"
)

// SlicesKey is the annotation that says which parts of which GPUs a pod has.
const SlicesKey = "tephra.sh/slices"

// Slice is the part of one GPU that one container has: docs/reference/annotations.md.
type Slice struct {
	UUID      string `json:"uuid"`
	Index     int    `json:"index"`
	Mode      string `json:"mode"`
	Compute   int    `json:"compute"`
	MemoryMiB int    `json:"memoryMiB"`
}

// SlicesOf are those of all containers of the pod.
func SlicesOf(pod *core.Pod) ([]Slice, error) {
	text, given := pod.Annotations[SlicesKey]
	if !given {
		return nil, fmt.Errorf("pod %s/%s: no annotation %s", pod.Namespace, pod.Name, SlicesKey)
	}
	var annotation struct {
		Version    int
		Containers []struct {
			Name   string
			Slices []Slice
		}
	}
	if err := json.Unmarshal([]byte(text), &annotation); err != nil || annotation.Version != 1 {
		return nil, fmt.Errorf("pod %s/%s: %s: %q, expected version 1: %w", pod.Namespace, pod.Name, SlicesKey, text, err)
	}
	var all []Slice
	for _, container := range annotation.Containers {
		all = append(all, container.Slices...)
	}
	return all, nil
}

// GivenTwice is nil when no GPU is given to more than it has: on each node, the shares of compute
// and the memory of one device among the pods stay within the device.
func GivenTwice(pods []core.Pod, deviceMemoryMiB int64) error {
	type device struct {
		node  string
		index int
	}
	type use struct{ compute, memory int64 }
	used := map[device]use{}
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName == "" || pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed {
			continue
		}
		if pod.Annotations[SlicesKey] == "" {
			continue
		}
		slices, err := SlicesOf(pod)
		if err != nil {
			return err
		}
		for _, slice := range slices {
			at := device{pod.Spec.NodeName, slice.Index}
			sum := use{used[at].compute + int64(slice.Compute), used[at].memory + int64(slice.MemoryMiB)}
			if used[at] = sum; sum.compute > 1000 || sum.memory > deviceMemoryMiB {
				return fmt.Errorf("node %s: GPU %d: %d per mille and %d MiB given with pod %s/%s, expected at most 1000 and %d",
					at.node, at.index, sum.compute, sum.memory, pod.Namespace, pod.Name, deviceMemoryMiB)
			}
		}
	}
	return nil
}
