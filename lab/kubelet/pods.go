package kubelet

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// SlicesKey is the annotation that the scheduler writes.
const SlicesKey = "tephra.sh/slices"

// Slice is as docs/reference/annotations.md has it.
type Slice struct {
	UUID      string `json:"uuid"`
	Index     int    `json:"index"`
	Mode      string `json:"mode"`
	Compute   int    `json:"compute"`
	MemoryMiB int    `json:"memoryMiB"`
	MIG       MIG    `json:"mig,omitzero"`
}

// MIG is which instance, of mode "mig".
type MIG struct {
	Profile string `json:"profile"`
	Start   int    `json:"start"`
}

// Whole is all of a GPU.
func Whole(gpu int) Slice { return Slice{UUID(gpu), gpu, "whole", 1000, GPUMemoryMiB, MIG{}} }

// Fraction is a share of one.
func Fraction(gpu, compute, memoryMiB int) Slice {
	return Slice{UUID(gpu), gpu, "fraction", compute, memoryMiB, MIG{}}
}

// Annotation is the text for slices by container.
func Annotation(given map[string][]Slice) string {
	type container struct {
		Name   string  `json:"name"`
		Slices []Slice `json:"slices"`
	}
	text := struct {
		Version    int         `json:"version"`
		Containers []container `json:"containers"`
	}{Version: 1}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		text.Containers = append(text.Containers, container{name, given[name]})
	}
	bytes, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(bytes)
}

// Pod has containers that each ask for as many slots as it has slices: those named "init…" are
// init containers, those named "sidecar…" init containers that stay.
func Pod(name string, given map[string][]Slice) *core.Pod {
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uuid.NewUUID())},
		Spec:       core.PodSpec{NodeName: NodeName, SchedulerName: "tephra"},
	}
	for _, container := range slices.Sorted(maps.Keys(given)) {
		slots := core.ResourceList{Resource: *resource.NewQuantity(int64(max(1, len(given[container]))), resource.DecimalSI)}
		one := core.Container{Name: container, Resources: core.ResourceRequirements{Limits: slots}}
		always := core.ContainerRestartPolicyAlways
		switch {
		case strings.HasPrefix(container, "sidecar"):
			one.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, one)
		case strings.HasPrefix(container, "init"):
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, one)
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, one)
		}
	}
	return pod
}

// Annotated is a copy of the pod with the annotation.
func Annotated(pod *core.Pod, text string) *core.Pod {
	pod = pod.DeepCopy()
	pod.Annotations = map[string]string{SlicesKey: text}
	return pod
}

func (s *Sees) value(name string) string {
	for _, variable := range s.Env {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}

// UUIDs are the GPUs that the container sees.
func (s *Sees) UUIDs() []string {
	if value := s.value("NVIDIA_VISIBLE_DEVICES"); value != "" {
		return strings.Split(value, ",")
	}
	return nil
}

// Differs says how what the container sees is not just the slices; "" where it is.
func (s *Sees) Differs(given []Slice) string {
	// Whole GPUs come first, each mode in the order of the annotation.
	ordered := slices.Clone(given)
	slices.SortStableFunc(ordered, func(a, b Slice) int { return strings.Compare(b.Mode, a.Mode) })
	uuids, devices := []string{}, []string{"/dev/nvidiactl", "/dev/nvidia-uvm"}
	limits := map[string]string{}
	for place, slice := range ordered {
		uuids = append(uuids, slice.UUID)
		devices = append(devices, "/dev/nvidia"+strconv.Itoa(slice.Index))
		if slice.Mode == "fraction" {
			limits["CUDA_DEVICE_MEMORY_LIMIT_"+strconv.Itoa(place)] = fmt.Sprintf("%dm", slice.MemoryMiB)
		}
	}
	if found := s.UUIDs(); !slices.Equal(found, uuids) {
		return fmt.Sprintf("GPUs %v, expected %v", found, uuids)
	}
	if found := slices.Sorted(slices.Values(s.Devices)); !slices.Equal(found, slices.Sorted(slices.Values(devices))) {
		return fmt.Sprintf("devices %v, expected %v", found, devices)
	}
	for _, variable := range s.Env {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "CUDA_DEVICE_MEMORY_LIMIT_") {
			continue
		}
		if limits[name] != value {
			return fmt.Sprintf("%s, expected %q", variable, limits[name])
		}
		delete(limits, name)
	}
	if len(limits) > 0 {
		return fmt.Sprintf("no %v", limits)
	}
	_, preloaded := s.Mounts["/etc/ld.so.preload"]
	if hooked := slices.ContainsFunc(given, func(s Slice) bool { return s.Mode == "fraction" }); hooked != preloaded {
		return fmt.Sprintf("hook library loaded: %v, expected %v", preloaded, hooked)
	}
	if directory, mounted := s.Mounts["/run/tephra"]; mounted {
		return mountDiffers(directory, given)
	}
	return ""
}

// mountDiffers says how the slices in a mounted directory are not just those given.
func mountDiffers(directory string, given []Slice) string {
	text, err := os.ReadFile(filepath.Join(directory, "slices.json"))
	if err != nil {
		return err.Error()
	}
	var found struct{ Slices []Slice }
	if err := json.Unmarshal(text, &found); err != nil {
		return err.Error()
	}
	if !slices.Equal(found.Slices, given) {
		return fmt.Sprintf("mounted %+v, expected %+v", found.Slices, given)
	}
	return ""
}
