package facts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/tephrav1"
)

// wholeGPU is what nodes without an inventory say how many GPUs they have by, and queues how many are
// theirs.
const wholeGPU corev1.ResourceName = "nvidia.com/gpu"

// words are the names of resources and annotations that concern devices.
type words struct {
	table *requests.Table
	// How many nodes have each resource that is counted only where some node has it.
	advertised map[corev1.ResourceName]int
	// How many devices may be cut by MIG, by its name of their model, and how many shared by MPS, and
	// in time slices, by how many at a time.
	cut    map[string]int
	served int
	turns  map[int32]int

	cluster requests.Cluster // of the above
}

func newWords(table *requests.Table) *words {
	w := &words{table: table, advertised: map[corev1.ResourceName]int{}, cut: map[string]int{}, turns: map[int32]int{}}
	w.cluster = requests.Cluster{
		Advertised: func(name corev1.ResourceName) bool { return w.advertised[name] > 0 },
		Cuts: func(profile string) bool {
			for model := range w.cut {
				if annotations.MIGProfileNumber(model, profile) >= 0 {
					return true
				}
			}
			return false
		},
		Serves:    func() bool { return w.served > 0 },
		TimeSlice: w.timeSlice,
	}
	return w
}

// Of a GPU whose slices have no bound so many count as all of it.
const usualReplicas = 10

// timeSlice is what a time slice counts for: the engine charges it before it knows the device, so it is
// one part of as many as the most shared device has, which on no device is more than there is.
func (w *words) timeSlice() int32 {
	most := int32(0)
	for replicas := range w.turns {
		most = max(most, replicas)
	}
	switch {
	case len(w.turns) == 0:
		return 0
	case most == 0:
		most = usualReplicas
	}
	return max(1, annotations.WholeGPU/most)
}

// counted: the resource is an amount of its node, as CPU is, and not said of devices.
func (w *words) counted(name corev1.ResourceName) bool { return w.table.Counted(name, &w.cluster) }

// countModes adds the device's modes, or takes them away; true: the first of a kind came, or the last
// one went.
func (w *words) countModes(device *tephrav1.Device, by int) bool {
	changed := false
	if slices.Contains(device.Modes, tephrav1.SliceMode_SLICE_MODE_MIG) {
		before := w.cut[device.MigModel]
		if w.cut[device.MigModel] += by; w.cut[device.MigModel] == 0 {
			delete(w.cut, device.MigModel)
		}
		changed = before == 0 || before+by == 0
	}
	if slices.Contains(device.Modes, tephrav1.SliceMode_SLICE_MODE_TIME_SLICE) {
		before := w.timeSlice()
		if w.turns[device.Replicas] += by; w.turns[device.Replicas] == 0 {
			delete(w.turns, device.Replicas)
		}
		changed = changed || w.timeSlice() != before
	}
	if slices.Contains(device.Modes, tephrav1.SliceMode_SLICE_MODE_MPS) {
		before := w.served
		w.served += by
		changed = changed || before == 0 || w.served == 0
	}
	return changed
}

// advertises notes what the node has, or with -1 no longer has; true: it is the first or the last.
func (w *words) advertises(node *corev1.Node, by int) bool {
	changed := false
	if node == nil {
		return false
	}
	for name, quantity := range node.Status.Allocatable {
		if quantity.IsZero() || !w.table.MayBeAdvertised(name) {
			continue
		}
		before := w.advertised[name]
		w.advertised[name] += by
		if w.advertised[name] == 0 {
			delete(w.advertised, name)
		}
		changed = changed || before == 0 || before+by == 0
	}
	return changed
}

// DeviceParts are the resources that pods ask for and no node is to have: the engine looks after them.
func (f *Feed) DeviceParts() []string { return f.options.Devices.Parts() }

// DeviceCounts are the resources that count devices. Nodes of the node plugin do not have them: the kubelet counts slots there.
func (f *Feed) DeviceCounts() []string { return f.options.Devices.Counts() }

// devices are what each container of the pod asks of GPUs, in the order of containerNames; nil:
// nothing. `on`: the node that it is bound to, nil: none that is known. With a fault they are what a
// pod holds that runs nevertheless.
func (t *translator) devices(pod *corev1.Pod, on *tephrav1.Node) ([]*tephrav1.DeviceRequest, *fault) {
	asks, refused := t.words.table.Containers(pod, &t.words.cluster)
	// Another scheduler's pods have their annotations for that one. KAI has pods of its own hold the
	// devices that it cuts.
	if refused == nil && t.ours(pod.Spec.SchedulerName) {
		if refused = t.words.table.Annotated(pod, asks); refused == nil {
			refused = t.words.table.CheckSlots(pod, asks)
		}
	}
	wrong := refusal(refused)
	out := make([]*tephrav1.DeviceRequest, len(asks))
	for i, ask := range asks {
		if ask.Count == 0 {
			continue
		}
		if ask.MemoryPerMille != 0 {
			size, expected := t.memorySize(pod, on)
			if expected != "" {
				wrong = cmp.Or(wrong, refusal(ask.Refuse(expected)))
				ask = requests.WholeGPU
			} else {
				ask.MemoryMiB = max(1, int32(int64(size)*int64(ask.MemoryPerMille)/1000))
			}
		}
		out[i] = &tephrav1.DeviceRequest{Count: ask.Count, Compute: ask.Compute, MemoryMib: ask.MemoryMiB,
			Sharing: sharings[ask.Sharing], MigProfile: ask.Profile}
	}
	return out, wrong
}

var sharings = map[requests.Sharing]tephrav1.Sharing{
	requests.ByMPS:       tephrav1.Sharing_SHARING_MPS,
	requests.ByTimeSlice: tephrav1.Sharing_SHARING_TIME_SLICE,
	requests.ByMIG:       tephrav1.Sharing_SHARING_MIG,
}

// userOf is the user that containers with shares of MPS run as; by default 0, root. An MPS server
// serves one user at a time. For pods without such shares it is 0: they are of one class, whatever user
// they run as.
func userOf(pod *corev1.Pod, devices []*tephrav1.DeviceRequest) (uint32, *fault) {
	var user *int64
	for i, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if i >= len(devices) || devices[i].GetSharing() != tephrav1.Sharing_SHARING_MPS {
			continue
		}
		runs := new(int64)
		if level := pod.Spec.SecurityContext; level != nil && level.RunAsUser != nil {
			runs = level.RunAsUser
		}
		if own := container.SecurityContext; own != nil && own.RunAsUser != nil {
			runs = own.RunAsUser
		}
		if user != nil && *user != *runs || *runs < 0 || *runs > math.MaxUint32 {
			return 0, &fault{"spec.containers.securityContext.runAsUser", strconv.FormatInt(*runs, 10),
				"one user for all containers with shares of MPS"}
		}
		user = runs
	}
	if user == nil {
		return 0, nil
	}
	return uint32(*user), nil
}

func refusal(refused *requests.Refusal) *fault {
	if refused == nil {
		return nil
	}
	return &fault{refused.Field, refused.Value, refused.Expected}
}

// memorySize is the memory in MiB that each device has which the pod may get; else what would have to
// be so. A part of a device's memory is only an amount where all are of one size: the engine compares
// and charges requests before it knows the device.
func (t *translator) memorySize(pod *corev1.Pod, on *tephrav1.Node) (size int32, expected string) {
	models := t.memories
	if len(on.GetDevices()) > 0 {
		models = memories{}
		for _, device := range on.Devices {
			models.count(device, +1)
		}
	}
	allowed := t.deviceModels(pod)
	var sizes []string
	for _, model := range sortedKeys(models) {
		if len(allowed) > 0 && !slices.Contains(allowed, model) {
			continue
		}
		for _, mib := range sortedKeys(models[model]) {
			if len(sizes) == 0 || mib != size {
				sizes = append(sizes, fmt.Sprintf("%d MiB (%s)", mib, cmp.Or(model, "of no model")))
			}
			size = mib
		}
	}
	switch {
	case len(sizes) == 0:
		return 0, "an amount in MiB: no node has a GPU that the pod may use"
	case len(sizes) > 1:
		return 0, "an amount in MiB, or models of one size: the pod may use GPUs of " + strings.Join(sizes, ", ")
	case size == 0:
		return 0, "an amount in MiB: the nodes do not say what memory the GPUs have"
	}
	return size, ""
}

// memories are how many devices there are of each model and memory in MiB.
type memories map[string]map[int32]int

// count adds devices; true: a pair came or went.
func (m memories) count(device *tephrav1.Device, by int) bool {
	if m[device.Model] == nil {
		m[device.Model] = map[int32]int{}
	}
	sizes := m[device.Model]
	before := sizes[device.MemoryMib]
	sizes[device.MemoryMib] += by
	if sizes[device.MemoryMib] == 0 {
		delete(sizes, device.MemoryMib)
	}
	if len(sizes) == 0 {
		delete(m, device.Model)
	}
	return before == 0 || before+by == 0
}

// podSlices are the slices that the text of the pod's annotation names, on the devices of its node.
func podSlices(pod *corev1.Pod, text string, node *tephrav1.Node) ([]*tephrav1.Slice, *fault) {
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
		number := slices.Index(names, container.Name)
		if number < 0 {
			return nil, &fault{at + ".name", container.Name, "a container of the pod"}
		}
		for s, slice := range container.Slices {
			device := deviceIndex(node, slice)
			if device < 0 {
				return nil, &fault{fmt.Sprintf("%s.slices[%d]", at, s),
					fmt.Sprintf("uuid %q, index %d", slice.UUID, slice.Index),
					fmt.Sprintf("one of the %d devices of node %q", len(node.Devices), node.Name)}
			}
			wire := &tephrav1.Slice{Container: uint32(number), Device: uint32(device),
				Mode: sliceMode(slice.Mode), Compute: slice.Compute, MemoryMib: slice.MemoryMiB}
			if !setInstance(wire, slice.Instance, node.Devices[device]) {
				return nil, &fault{fmt.Sprintf("%s.slices[%d].mig.profile", at, s), strconv.Quote(slice.Instance.Profile),
					fmt.Sprintf("one of the device's MIG model %q", node.Devices[device].MigModel)}
			}
			out = append(out, wire)
		}
	}
	return out, nil
}

// sliceMode is the mode as the wire has it, which numbers them from 1 on.
func sliceMode(mode annotations.Mode) tephrav1.SliceMode {
	return tephrav1.SliceMode(slices.Index(annotations.Modes, mode) + 1)
}

func annotationMode(mode tephrav1.SliceMode) annotations.Mode {
	if at := int(mode) - 1; at >= 0 && at < len(annotations.Modes) {
		return annotations.Modes[at]
	}
	return annotations.Fraction
}

// setInstance says where a MIG instance lies; false: the device's model has no such profile.
func setInstance(wire *tephrav1.Slice, instance *annotations.Instance, device *tephrav1.Device) bool {
	if instance == nil {
		return true
	}
	number := annotations.MIGProfileNumber(device.GetMigModel(), instance.Profile)
	wire.MigProfile, wire.MigStart = uint32(max(number, 0)), uint32(instance.Start)
	return number >= 0
}

// instanceOf is where the slice lies on its device, nil where it is no instance.
func instanceOf(wire *tephrav1.Slice, device *tephrav1.Device) *annotations.Instance {
	if wire.Mode != tephrav1.SliceMode_SLICE_MODE_MIG {
		return nil
	}
	return &annotations.Instance{Profile: annotations.MIGProfile(device.GetMigModel(), int(wire.MigProfile)),
		Start: int(wire.MigStart)}
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

// containerNames are the names of the pod's containers as the engine numbers them: init containers first,
// each kind in the order of the pod. One without a name, which the API server does not accept but other
// sources of pods do, is called by its number.
func containerNames(pod *corev1.Pod) []string {
	var names []string
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			names = append(names, cmp.Or(list[i].Name, fmt.Sprintf("container-%d", len(names))))
		}
	}
	return names
}
