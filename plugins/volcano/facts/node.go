package facts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// Labels that NVIDIA's feature discovery sets, read where a node has no inventory.
const (
	productLabel   = "nvidia.com/gpu.product"
	gpuMemoryLabel = "nvidia.com/gpu.memory"
)

// GPUTopologyLabel is the label that Alibaba's ACK has for it: with the value "default" whole GPUs of
// the node are taken whatever is between them; with "topology", or without the label, the GPUs with the
// best links.
const GPUTopologyLabel = "ack.node.gpu.schedule"

// CheckNodeSelector returns an error that names the label that is none.
func CheckNodeSelector(labels []string) error {
	for _, label := range labels {
		if key, value, both := strings.Cut(label, ":"); !both || strings.TrimSpace(key) == "" || strings.TrimSpace(value) == "" {
			return fmt.Errorf("%q, expected a label as key:value", label)
		}
	}
	return nil
}

// selected says whether the node has one of the labels, or there are none.
func selected(node *corev1.Node, labels []string) bool {
	return len(labels) == 0 || slices.ContainsFunc(labels, func(label string) bool {
		key, value, _ := strings.Cut(label, ":")
		has, given := node.Labels[strings.TrimSpace(key)]
		return given && has == strings.TrimSpace(value)
	})
}

// translateNode never fails: what cannot be read is left out, and the fault says what it was.
func translateNode(node *corev1.Node, k *kinds, topologyLabel string) (*tephrav1.Node, *fault) {
	out := &tephrav1.Node{
		Name:          node.Name,
		Labels:        labels(node.Labels),
		Unschedulable: node.Spec.Unschedulable || !ready(node),
	}
	for _, taint := range node.Spec.Taints {
		out.Taints = append(out.Taints, &tephrav1.Taint{
			Key: taint.Key, Value: taint.Value, Effect: taintEffect(taint.Effect)})
	}
	devices, wrong := nodeDevices(node)
	for _, device := range devices {
		sharing := device.Sharing
		wire := &tephrav1.Device{Uuid: device.UUID, Model: device.Model,
			MemoryMib: device.MemoryMiB, Unhealthy: !device.Healthy,
			SplitCount: sharing.SplitCount, MpsClients: sharing.MPSClients, Replicas: sharing.Replicas,
			ComputeFactor: sharing.ComputeFactor, MemoryFactor: sharing.MemoryFactor, MigModel: sharing.MIGModel}
		for _, mode := range sharing.Modes {
			wire.Modes = append(wire.Modes, sliceMode(mode))
		}
		out.Devices = append(out.Devices, wire)
	}
	if node.Labels[topologyLabel] != "default" {
		out.GpuLinks = gpuLinks(devices)
	}
	amounts, overflow := k.amounts(node.Status.Allocatable, false)
	if overflow != nil {
		return out, overflow.in("status.allocatable") // and room for nothing
	}
	out.Allocatable = addSlots(amounts, node, k)
	return out, wrong
}

// gpuLinks are nil where nothing is known of them. How fast each is follows in the engine from its
// kind and the model.
func gpuLinks(devices []annotations.Device) *tephrav1.GpuLinks {
	if len(devices) < 2 || devices[1].Links == nil {
		return nil
	}
	out := &tephrav1.GpuLinks{}
	for _, device := range devices {
		numa := int32(-1)
		if device.NUMA != nil {
			numa = int32(*device.NUMA)
		}
		out.NumaNodes = append(out.NumaNodes, numa)
		for _, link := range device.Links {
			out.Pairs = append(out.Pairs, &tephrav1.GpuLink{
				Type: tephrav1.GpuLinkType(1 + slices.Index(annotations.Paths, link.Path)), Nvlinks: uint32(link.NVLinks)})
		}
	}
	return out
}

func ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// nodeDevices reads the best source that there is. A source that is there and wrong means no
// devices at all, never half of them.
func nodeDevices(node *corev1.Node) ([]annotations.Device, *fault) {
	for _, source := range []struct {
		key   string
		parse func(string) ([]annotations.Device, error)
	}{
		{annotations.InventoryKey, annotations.ParseInventory},
		{annotations.VGPURegisterKey, annotations.ParseVGPURegister},
	} {
		text, given := node.Annotations[source.key]
		if !given {
			continue
		}
		devices, err := source.parse(text)
		if err != nil {
			return nil, annotationFault(err)
		}
		return devices, nil
	}
	return countedDevices(node)
}

// countedDevices are those of a node that says only how many it has.
func countedDevices(node *corev1.Node) ([]annotations.Device, *fault) {
	quantity := node.Status.Allocatable[wholeGPU]
	count := quantity.Value()
	if count == 0 {
		return nil, nil
	}
	if count < 0 || count > annotations.MaxDevices {
		return nil, &fault{"status.allocatable." + string(wholeGPU), quantity.String(),
			"0 to " + strconv.Itoa(annotations.MaxDevices)}
	}
	var memory int32
	if text, given := node.Labels[gpuMemoryLabel]; given {
		parsed, err := strconv.ParseInt(text, 10, 32)
		if err != nil || parsed < 0 || parsed > annotations.MaxDeviceMemoryMiB {
			return nil, &fault{"metadata.labels[" + gpuMemoryLabel + "]", strconv.Quote(text),
				"a number of MiB"}
		}
		memory = int32(parsed)
	}
	device := annotations.Device{Model: node.Labels[productLabel], MemoryMiB: memory, Healthy: true}
	return slices.Repeat([]annotations.Device{device}, int(count)), nil
}

func annotationFault(err error) *fault {
	var wrong *annotations.Error
	if !errors.As(err, &wrong) {
		return &fault{"metadata.annotations", err.Error(), "a readable annotation"}
	}
	field := "metadata.annotations[" + wrong.Annotation + "]"
	if wrong.Field != "" {
		field += "." + wrong.Field
	}
	return &fault{field, wrong.Value, wrong.Expected}
}

func labels(set map[string]string) []*tephrav1.Label {
	var out []*tephrav1.Label
	for _, key := range sortedKeys(set) {
		out = append(out, &tephrav1.Label{Key: key, Value: set[key]})
	}
	return out
}

func taintEffect(effect corev1.TaintEffect) tephrav1.TaintEffect {
	switch effect {
	case corev1.TaintEffectNoSchedule:
		return tephrav1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE
	case corev1.TaintEffectPreferNoSchedule:
		return tephrav1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE
	default:
		return tephrav1.TaintEffect_TAINT_EFFECT_NO_EXECUTE
	}
}
