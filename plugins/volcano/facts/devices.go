package facts

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// The resources by which containers ask for GPUs.
const (
	wholeGPU    corev1.ResourceName = "nvidia.com/gpu"
	vgpuNumber  corev1.ResourceName = "volcano.sh/vgpu-number"
	vgpuMemory  corev1.ResourceName = "volcano.sh/vgpu-memory"
	vgpuCores   corev1.ResourceName = "volcano.sh/vgpu-cores"
	vgpuPercent corev1.ResourceName = "volcano.sh/vgpu-memory-percentage"
	gpuShare    corev1.ResourceName = "volcano.sh/gpu-memory" // Volcano's gpushare, before vGPU
	gpuShares   corev1.ResourceName = "volcano.sh/gpu-number"
)

func isDeviceResource(name corev1.ResourceName) bool {
	return name == wholeGPU || strings.HasPrefix(string(name), "volcano.sh/vgpu-") ||
		name == gpuShare || name == gpuShares
}

// deviceRequest is what the container asks of GPUs; nil: nothing. Volcano's rules for its own
// resources: memory or cores without a number mean one device; without memory a container gets all
// of it, and so the device for itself; all the cores mean the same.
func deviceRequest(container *corev1.Container) (*tephrav1.DeviceRequest, *fault) {
	asked := func(name corev1.ResourceName) (int64, bool) {
		quantity, given := container.Resources.Limits[name]
		if !given {
			quantity, given = container.Resources.Requests[name]
		}
		return quantity.Value(), given
	}
	bad := func(name corev1.ResourceName, value any, expected string) *fault {
		return &fault{"resources.limits[" + string(name) + "]", fmt.Sprint(value), expected}
	}
	for _, name := range []corev1.ResourceName{gpuShare, gpuShares} {
		if value, given := asked(name); given && value != 0 {
			return nil, bad(name, value, "none, ask for "+string(vgpuMemory)+" instead")
		}
	}
	whole, _ := asked(wholeGPU)
	number, numbered := asked(vgpuNumber)
	memory, _ := asked(vgpuMemory)
	cores, _ := asked(vgpuCores)
	percent, _ := asked(vgpuPercent)
	if (memory != 0 || cores != 0 || percent != 0) && !numbered {
		number = 1
	}
	if limit, given := container.Resources.Limits[wholeGPU]; whole != 0 {
		if request, both := container.Resources.Requests[wholeGPU]; both && (!given || request.Cmp(limit) != 0) {
			return nil, &fault{"resources.requests[" + string(wholeGPU) + "]", request.String(),
				"its limit, " + limit.String()}
		}
	}
	switch {
	case whole == 0 && number == 0:
		return nil, nil
	case whole != 0 && number != 0:
		return nil, bad(wholeGPU, whole, "none beside "+string(vgpuNumber))
	case whole < 0 || whole > annotations.MaxDevices:
		return nil, bad(wholeGPU, whole, fmt.Sprintf("0 to %d", annotations.MaxDevices))
	case whole != 0:
		return wholeDevices(whole), nil
	case number < 0 || number > annotations.MaxDevices:
		return nil, bad(vgpuNumber, number, fmt.Sprintf("0 to %d", annotations.MaxDevices))
	case cores < 0 || cores > 100:
		return nil, bad(vgpuCores, cores, "0 to 100 per cent")
	case memory < 0 || memory > annotations.MaxDeviceMemoryMiB:
		return nil, bad(vgpuMemory, memory, fmt.Sprintf("0 to %d MiB", annotations.MaxDeviceMemoryMiB))
	case percent != 0 && percent != 100 && memory == 0:
		return nil, bad(vgpuPercent, percent, "100 or none: parts of a memory are asked for as "+string(vgpuMemory))
	case memory == 0 || cores == 100:
		request := wholeDevices(number)
		request.MemoryMib = int32(memory)
		return request, nil
	default:
		return &tephrav1.DeviceRequest{Count: int32(number), Compute: int32(cores * 10),
			MemoryMib: int32(memory)}, nil
	}
}

func wholeDevices(count int64) *tephrav1.DeviceRequest {
	return &tephrav1.DeviceRequest{Count: int32(count), Compute: annotations.WholeGPU}
}

// podSlices are the slices that the pod's annotation names, on the devices of its node.
func podSlices(pod *corev1.Pod, node *tephrav1.Node) ([]*tephrav1.Slice, *fault) {
	text, given := pod.Annotations[annotations.SlicesKey]
	if !given {
		return nil, nil
	}
	containers, err := annotations.ParseSlices(text)
	if err != nil {
		return nil, annotationFault(err)
	}
	if node == nil {
		return nil, nil // read again when its node comes
	}
	names := containerNames(pod)
	var out []*tephrav1.Slice
	for c, container := range containers {
		at := fmt.Sprintf("metadata.annotations[%s].containers[%d]", annotations.SlicesKey, c)
		number, known := names[container.Name]
		if !known {
			return nil, &fault{at + ".name", container.Name, "a container of the pod"}
		}
		for s, slice := range container.Slices {
			device := deviceIndex(node, slice)
			if device < 0 {
				return nil, &fault{fmt.Sprintf("%s.slices[%d]", at, s),
					fmt.Sprintf("uuid %q, index %d", slice.UUID, slice.Index),
					fmt.Sprintf("one of the %d devices of node %q", len(node.Devices), node.Name)}
			}
			mode := tephrav1.SliceMode_SLICE_MODE_FRACTION
			if slice.Mode == annotations.Whole {
				mode = tephrav1.SliceMode_SLICE_MODE_WHOLE
			}
			out = append(out, &tephrav1.Slice{Container: uint32(number), Device: uint32(device),
				Mode: mode, Compute: slice.Compute, MemoryMib: slice.MemoryMiB})
		}
	}
	return out, nil
}

// deviceIndex is the index of the slice's device on the node, -1 if the node has none such.
func deviceIndex(node *tephrav1.Node, slice annotations.Slice) int {
	if slice.UUID != "" {
		for d, device := range node.Devices {
			if device.Uuid == slice.UUID {
				return d
			}
		}
	}
	// A card that names itself is not another one that happens to sit in its place.
	if slice.Index < len(node.Devices) &&
		(slice.UUID == "" || node.Devices[slice.Index].Uuid == "") {
		return slice.Index
	}
	return -1
}

// containerNames numbers the pod's containers as the engine does: init containers first, each
// kind in the order of the pod.
func containerNames(pod *corev1.Pod) map[string]int {
	names := map[string]int{}
	for _, container := range pod.Spec.InitContainers {
		names[container.Name] = len(names)
	}
	for _, container := range pod.Spec.Containers {
		names[container.Name] = len(names)
	}
	return names
}
