package facts

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/tephrav1"
)

// load is what the pod takes of its node: containers in the order of containerNames, overhead, and
// what at most one pod of a domain may have. A strict reading fails on a request that the engine
// cannot weigh; one that is not strict, of pods that run whatever we think of them, takes such
// devices for whole. `on` is as for devices.
func (t *translator) load(pod *corev1.Pod, on *tephrav1.Node, strict bool) (*tephrav1.PodTemplate, *fault) {
	out := &tephrav1.PodTemplate{}
	devices, wrong := t.devices(pod, on)
	if wrong != nil && strict {
		return nil, wrong
	}
	if out.UserId, wrong = userOf(pod, devices); wrong != nil && strict {
		return nil, wrong
	}
	add := func(field string, container *corev1.Container, kind tephrav1.ContainerKind) *fault {
		amounts, wrong := t.kinds.amounts(container.Resources.Requests, strict)
		if wrong != nil && strict {
			return wrong.in(field + ".resources.requests")
		}
		out.Containers = append(out.Containers, &tephrav1.Container{
			Name: container.Name, Kind: kind, Requests: amounts, Devices: devices[len(out.Containers)]})
		return nil
	}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		kind := tephrav1.ContainerKind_CONTAINER_KIND_INIT
		if isSidecar(container) {
			kind = tephrav1.ContainerKind_CONTAINER_KIND_SIDECAR
		}
		if wrong := add(fmt.Sprintf("spec.initContainers[%d]", i), container, kind); wrong != nil {
			return nil, wrong
		}
	}
	for i := range pod.Spec.Containers {
		kind := tephrav1.ContainerKind_CONTAINER_KIND_APP
		if wrong := add(fmt.Sprintf("spec.containers[%d]", i), &pod.Spec.Containers[i], kind); wrong != nil {
			return nil, wrong
		}
	}
	overhead, wrong := t.kinds.amounts(overhead(pod), strict)
	if wrong != nil && strict {
		return nil, wrong.in("spec.overhead")
	}
	out.Overhead = overhead
	out.Limits = t.domainLimits(pod)
	return out, nil
}

// isSidecar: the init container runs beside the pod's containers for as long as they do. Init containers
// with any other restart policy, or with rules for restarts, end before the pod's containers start.
func isSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// overhead is the pod's own, and what its pod-level requests are above those of its containers:
// the engine adds it to either phase of the pod's life.
func overhead(pod *corev1.Pod) corev1.ResourceList {
	if !resourcehelper.IsPodLevelRequestsSet(pod) {
		return pod.Spec.Overhead
	}
	out := pod.Spec.Overhead.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	containers := resourcehelper.PodRequests(pod,
		resourcehelper.PodResourcesOptions{ExcludeOverhead: true, SkipPodLevelResources: true})
	for name, level := range pod.Spec.Resources.Requests {
		more := level.DeepCopy()
		more.Sub(containers[name])
		if more.Sign() > 0 {
			sum := out[name]
			sum.Add(more)
			out[name] = sum
		}
	}
	return out
}

type domainLimit struct{ group, topologyKey string }

// domainLimits are the host ports, the volumes and the anti-affinities that the engine can judge.
func (t *translator) domainLimits(pod *corev1.Pod) []*tephrav1.DomainLimit {
	limits := map[domainLimit]bool{}
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for i, container := range containers {
		lasting := i >= len(pod.Spec.InitContainers) || isSidecar(&container)
		for _, port := range container.Ports {
			if !lasting || port.HostPort == 0 || len(limits) == mostHostPorts {
				continue // of a foreign pod, more ports are checked when another pod is bound beside it
			}
			protocol, ip := port.Protocol, port.HostIP
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			if ip == "" {
				ip = "0.0.0.0"
			}
			group := fmt.Sprintf("port/%s/%d/%s", protocol, port.HostPort, ip)
			limits[domainLimit{group, corev1.LabelHostname}] = true
		}
	}
	out, _ := t.apart.limits(pod)
	out = append(out, t.volumes.limits(pod)...)
	for limit := range limits {
		out = append(out, &tephrav1.DomainLimit{Group: limit.group, TopologyKey: limit.topologyKey, Max: 1})
	}
	slices.SortFunc(out, compareLimits)
	return out
}

// bound: the pod has been given to a node and has not ended.
func bound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && !ended(pod) }

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// asks: the pod is not placed yet, and may be.
func asks(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && !ended(pod) && pod.DeletionTimestamp == nil &&
		len(pod.Spec.SchedulingGates) == 0
}

func taskPhase(pod *corev1.Pod) tephrav1.TaskPhase {
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return tephrav1.TaskPhase_TASK_PHASE_SUCCEEDED
	case pod.Status.Phase == corev1.PodFailed:
		return tephrav1.TaskPhase_TASK_PHASE_FAILED
	case pod.Spec.NodeName == "":
		return tephrav1.TaskPhase_TASK_PHASE_PENDING
	case pod.DeletionTimestamp != nil:
		return tephrav1.TaskPhase_TASK_PHASE_RELEASING
	default:
		return tephrav1.TaskPhase_TASK_PHASE_RUNNING
	}
}

// translator reads pods of one cluster: it knows the cluster's resource kinds and GPU models, and
// which pods keep which other pods away.
type translator struct {
	ours     func(schedulerName string) bool
	words    *words
	kinds    kinds
	memories memories
	// The same on the nodes of each value that the label of the product has.
	products map[string]map[string]int
	apart    apart
	volumes  volumes
	shapes   map[string]*shape
	masks    bool // some shape named a mask
}

func newTranslator(table *requests.Table, ours func(schedulerName string) bool) translator {
	words := newWords(table)
	return translator{
		ours:     ours,
		words:    words,
		kinds:    kinds{words: words, offered: map[corev1.ResourceName]int{}},
		memories: memories{},
		products: map[string]map[string]int{},
		apart:    newApart(),
		volumes:  newVolumes(),
		shapes:   map[string]*shape{},
	}
}

// countModels adds the node's GPU models, or takes them away; true: the cluster has one more model or
// size of one than before, or one less, or what is of one product in it has one more model, or less.
func (t *translator) countModels(node *tephrav1.Node, by int) bool {
	changed := false
	count := func(models map[string]int, model string) {
		before := models[model]
		models[model] += by
		if models[model] == 0 {
			delete(models, model)
		}
		changed = changed || before == 0 || models[model] == 0
	}
	product := productOf(node)
	for _, device := range node.GetDevices() {
		changed = t.memories.count(device, by) || changed
		changed = t.words.countModes(device, by) || changed
		if product == "" {
			continue
		}
		if t.products[product] == nil {
			t.products[product] = map[string]int{}
		}
		count(t.products[product], device.Model)
		if len(t.products[product]) == 0 {
			delete(t.products, product)
		}
	}
	return changed
}

// productOf is what the node's label says of its GPUs; empty: nothing.
func productOf(node *tephrav1.Node) string {
	for _, label := range node.GetLabels() {
		if label.Key == productLabel {
			return label.Value
		}
	}
	return ""
}

// dependsOnNodes: what the pod asks for depends on which GPU models and resources there are.
func (t *translator) dependsOnNodes(pod *corev1.Pod) bool {
	return t.words.table.DependsOnNodes(pod) || pod.Annotations[useModels] != "" || pod.Annotations[avoidModels] != "" ||
		pod.Spec.NodeSelector[productLabel] != ""
}

// shape is everything that placement asks of a pod, one for all equal pods.
type shape struct {
	pod  *tephrav1.PodTemplate
	mask string
}

// shapeOf is what the engine is to know of a pod of ours. REQUIRES: the pod's own anti-affinities
// are in t.apart, unless it is only a template. `on` is as for devices.
func (t *translator) shapeOf(pod *corev1.Pod, on *tephrav1.Node) (*shape, *fault) {
	if wrong := podBounds(pod); wrong != nil && !ended(pod) {
		return nil, wrong
	}
	template, wrong := t.load(pod, on, true)
	if wrong != nil {
		return nil, wrong
	}
	template.Constraints = t.constraints(pod)
	mask := ""
	if _, crossed := t.apart.limits(pod); crossed || !ended(pod) && onlyGoCanJudge(pod) {
		mask = maskName(pod)
		if template.Constraints == nil {
			template.Constraints = &tephrav1.NodeConstraints{}
		}
		template.Constraints.Mask = mask
	}
	key := string(mustMarshal(template))
	if known, ok := t.shapes[key]; ok {
		return known, nil
	}
	fresh := &shape{template, mask}
	t.masks = t.masks || mask != ""
	t.shapes[key] = fresh
	return fresh, nil
}

// useModels and avoidModels are Volcano's wishes for GPU models: parts of their names.
const (
	useModels   = "nvidia.com/use-gputype"
	avoidModels = "nvidia.com/nouse-gputype"
)

// Devices by their UUID, in HAMi's words and in Volcano's.
var (
	useDevices   = []string{"nvidia.com/use-gpuuuid", "volcano.sh/vgpu-use-gpuuuid"}
	avoidDevices = []string{"nvidia.com/nouse-gpuuuid", "volcano.sh/vgpu-nouse-gpuuuid"}
)
