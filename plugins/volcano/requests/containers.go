package requests

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tephra.sh/volcano/annotations"
)

// Ask is what one container wants of GPUs: so many, and of each the same.
type Ask struct {
	Count     int32 // 0: none
	Compute   int32 // per mille; annotations.WholeGPU: the device for itself
	MemoryMiB int32 // where the device is its own: what it has to have at least
	// Per mille of the device's memory, where it was said so; MemoryMiB is 0 then.
	MemoryPerMille int32
	// By what it is shared; compute and memory are 0 where it is MIG, for they follow from the profile.
	Sharing Sharing
	Profile string

	// Where its memory is said, or else that it asks at all.
	list  string // of containers; empty: in annotations
	index int
	key   string
	value string
}

// Sharing is how a device is shared that is not given whole.
type Sharing int

const (
	ByHook Sharing = iota
	ByMPS
	ByTimeSlice
	ByMIG
)

// Cluster is what the nodes have of what is only meant so where they have it. Its zero: nothing.
type Cluster struct {
	Advertised func(corev1.ResourceName) bool // some node has the resource
	Cuts       func(profile string) bool      // some GPU may give such a MIG instance
	Serves     func() bool                    // some GPU may be shared by MPS
	// Per mille of a GPU that a time slice counts for; 0: no GPU may be shared in time slices.
	TimeSlice func() int32
}

func (c *Cluster) advertised(name corev1.ResourceName) bool {
	return c.Advertised != nil && c.Advertised(name)
}

// profile is that of the instances that are to be cut where a container asks for the resource; empty:
// it is counted by its name.
func (c *Cluster) profile(name corev1.ResourceName) string {
	profile := annotations.MIGProfileOf(string(name))
	if profile == "" || c.advertised(name) || c.Cuts == nil || !c.Cuts(profile) {
		return ""
	}
	return profile
}

func (c *Cluster) timeSlice() int32 {
	if c.TimeSlice == nil {
		return 0
	}
	return c.TimeSlice()
}

// Counted: the resource is an amount of its node, as CPU is, and not said of devices.
func (t *Table) Counted(name corev1.ResourceName, cluster *Cluster) bool {
	switch role, _ := t.Role(name); role {
	case Foreign:
		return true
	case MIGInstance:
		return cluster.profile(name) == ""
	case TimeSlices:
		return cluster.advertised(name) || cluster.timeSlice() == 0
	default:
		return cluster.advertised(name)
	}
}

// Refusal is what a pod may not ask for, or not so.
type Refusal struct {
	Field, Value, Expected string
}

// Whole: it is for devices without neighbours.
func (a *Ask) Whole() bool { return a.Sharing == ByHook && a.Compute == annotations.WholeGPU }

// Refuse refuses the ask for a reason that only the cluster knows.
func (a Ask) Refuse(expected string) *Refusal { return &Refusal{a.field(), a.value, expected} }

func (a Ask) field() string {
	if a.list == "" {
		return "metadata.annotations[" + a.key + "]"
	}
	return fmt.Sprintf("%s[%d].resources.limits[%s]", a.list, a.index, a.key)
}

// WholeGPU is what a container is taken to hold that runs with what we would have refused.
var WholeGPU = Ask{Count: 1, Compute: annotations.WholeGPU}

// Containers reads the resources of each container, init containers first. With a refusal, asks are
// what the containers hold if they run nevertheless.
func (t *Table) Containers(pod *corev1.Pod, cluster *Cluster) ([]Ask, *Refusal) {
	var first *Refusal
	asks := make([]Ask, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{{"spec.initContainers", pod.Spec.InitContainers}, {"spec.containers", pod.Spec.Containers}} {
		for i := range list.containers {
			ask, wrong := t.container(&list.containers[i], cluster)
			ask.list, ask.index = list.field, i
			asks = append(asks, ask)
			if first == nil && wrong != nil {
				first = &Refusal{fmt.Sprintf("%s[%d].%s", list.field, i, wrong.Field), wrong.Value, wrong.Expected}
			}
		}
	}
	return asks, first
}

// Unsaid is the resource that counts devices, and how many the table says, where the container asks for
// parts alone; 0: nothing is left unsaid.
func (t *Table) Unsaid(c *corev1.Container) (corev1.ResourceName, int64) {
	for _, name := range t.names(c) {
		known := t.wordOf(name)
		if known.role != Memory && known.role != MemoryPercentage && known.role != Cores {
			continue
		}
		count := corev1.ResourceName(known.language.Count)
		amount := c.Resources.Limits[name]
		if _, given := c.Resources.Limits[count]; !given && !amount.IsZero() {
			return count, known.language.DefaultCount
		}
	}
	return "", 0
}

// DependsOnNodes: what the pod asks for is read otherwise where other nodes are there.
func (t *Table) DependsOnNodes(pod *corev1.Pod) bool {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for _, list := range []corev1.ResourceList{containers[i].Resources.Limits, containers[i].Resources.Requests} {
				for name := range list {
					known := t.wordOf(name)
					if known != nil && (known.role == MemoryPercentage || known.mayBeAdvertised()) {
						return true
					}
				}
			}
		}
	}
	for _, vendor := range t.Vendors {
		for _, language := range vendor.AnnotationLanguages {
			if _, given := pod.Annotations[language.Fraction]; given {
				return true
			}
		}
	}
	return false
}

// said is an amount of the language's, as a container gives it.
type said struct {
	name  string
	value int64
	given bool
}

func (s said) refuse(expected string) *Refusal {
	return &Refusal{"resources.limits[" + s.name + "]", fmt.Sprint(s.value), expected}
}

// sentence is all that a container says in one language, by role.
type sentence [Cores + 1]said

func (s *sentence) asks() bool {
	if s[Count].given {
		return s[Count].value != 0
	}
	return s[Memory].value != 0 || s[MemoryPercentage].value != 0 || s[Cores].value != 0
}

// first is what the sentence asks for, to name it by.
func (s *sentence) first() said {
	for _, role := range []Role{Count, Memory, MemoryPercentage, Cores} {
		if s[role].value != 0 {
			return s[role]
		}
	}
	return said{}
}

func (t *Table) container(c *corev1.Container, cluster *Cluster) (Ask, *Refusal) {
	var sentences map[*Language]*sentence
	var other *Refusal // of a vendor whose devices are counted: it holds none of ours
	var part Ask       // by MIG, MPS or time slice
	for _, name := range t.names(c) {
		known := t.wordOf(name)
		if known.role == Aside || known.role == Slot || known.mayBeAdvertised() && t.Counted(name, cluster) {
			continue
		}
		value, wrong := amount(c, name)
		if wrong == nil && known.role >= MIGInstance {
			if wrong = part.add(said{string(name), value, true}, known, cluster); wrong == nil {
				continue
			}
		}
		if wrong == nil && known.role == Denied && value != 0 {
			wrong = said{name: string(name), value: value}.refuse(known.reason)
		}
		switch {
		case wrong != nil && known.role == Denied && !known.cut:
			other = cmp.Or(other, wrong)
		case wrong != nil:
			return WholeGPU, wrong
		case known.role != Denied:
			if sentences == nil {
				sentences = map[*Language]*sentence{}
			}
			if sentences[known.language] == nil {
				sentences[known.language] = &sentence{}
			}
			sentences[known.language][known.role] = said{string(name), value, true}
		}
	}
	var asking *Language
	for _, language := range t.languages {
		s := sentences[language]
		switch {
		case s == nil || !s.asks():
		case asking != nil:
			return WholeGPU, sentences[asking].first().refuse("none beside " + s.first().name)
		default:
			asking = language
		}
	}
	switch {
	case asking == nil:
		return part, other
	case part.Count != 0:
		return WholeGPU, sentences[asking].first().refuse("none beside " + part.key)
	}
	ask, wrong := asking.read(sentences[asking])
	if wrong != nil {
		return WholeGPU, wrong
	}
	return ask, other
}

// add reads a word of MIG, MPS or time slices.
func (a *Ask) add(word said, known *word, cluster *Cluster) *Refusal {
	if word.value == 0 {
		return nil
	}
	sharing := ByMPS
	most := int64(annotations.MaxDevices)
	switch known.role {
	case MIGInstance:
		sharing = ByMIG
	case TimeSlices:
		sharing = ByTimeSlice
	case MPSCores:
		most = 100
	case MPSMemory:
		most = annotations.MaxDeviceMemoryMiB / known.mps.MemoryFactor
	}
	switch {
	case sharing == ByMPS && (cluster.Serves == nil || !cluster.Serves()):
		return word.refuse(known.mps.Reason)
	case a.Count != 0 && (a.Sharing != sharing || sharing != ByMPS):
		return word.refuse("none beside " + a.key)
	case word.value < 0 || word.value > most:
		return word.refuse(fmt.Sprintf("0 to %d", most))
	}
	if a.Count == 0 {
		*a = Ask{Count: 1, Sharing: sharing, key: word.name, value: strconv.FormatInt(word.value, 10)}
	}
	switch known.role {
	case MIGInstance:
		a.Count, a.Profile = int32(word.value), cluster.profile(corev1.ResourceName(word.name))
	case TimeSlices:
		a.Count, a.Compute = int32(word.value), cluster.timeSlice()
	case MPSCores:
		a.Compute = int32(word.value * 10)
	case MPSMemory:
		a.MemoryMiB = int32(word.value * known.mps.MemoryFactor)
	}
	return nil
}

// names are the container's resources that mean something, in order.
func (t *Table) names(c *corev1.Container) []corev1.ResourceName {
	var out []corev1.ResourceName
	for name := range c.Resources.Limits {
		if t.wordOf(name) != nil {
			out = append(out, name)
		}
	}
	for name := range c.Resources.Requests {
		if _, both := c.Resources.Limits[name]; !both && t.wordOf(name) != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// amount is the limit, to which the request is equal where Kubernetes has let the pod in.
func amount(c *corev1.Container, name corev1.ResourceName) (int64, *Refusal) {
	limit := c.Resources.Limits[name]
	if request, given := c.Resources.Requests[name]; given && request.Cmp(limit) != 0 {
		return 0, &Refusal{"resources.requests[" + string(name) + "]", request.String(), "its limit, " + limit.String()}
	}
	value := limit.Value()
	if limit.Cmp(*resource.NewQuantity(value, resource.DecimalSI)) != 0 {
		return 0, &Refusal{"resources.limits[" + string(name) + "]", limit.String(), "a whole number"}
	}
	return value, nil
}

// read follows HAMi's rules, which Volcano has too: what is not said is the table's; without a
// memory a container gets all of it, and so the device for itself; all the cores mean the same.
func (l *Language) read(s *sentence) (Ask, *Refusal) {
	count, memory, percent, cores := s[Count], s[Memory], s[MemoryPercentage], s[Cores]
	if !count.given {
		count = said{l.Count, l.DefaultCount, false}
	}
	named := s.first()
	switch {
	case count.value == 0:
		return Ask{}, named.refuse("none without " + l.Count)
	case count.value < 0 || count.value > annotations.MaxDevices:
		return Ask{}, count.refuse(fmt.Sprintf("0 to %d", annotations.MaxDevices))
	case cores.value < 0 || cores.value > 100:
		return Ask{}, cores.refuse("0 to 100 per cent")
	case memory.value < 0 || memory.value > annotations.MaxDeviceMemoryMiB/l.MemoryFactor:
		return Ask{}, memory.refuse(fmt.Sprintf("0 to %d MiB", annotations.MaxDeviceMemoryMiB/l.MemoryFactor*l.MemoryFactor))
	case percent.value < 0 || percent.value > 100:
		return Ask{}, percent.refuse("0 to 100 per cent")
	case memory.value != 0 && percent.value != 0:
		return Ask{}, percent.refuse("none beside " + l.Memory)
	}
	if memory.value == 0 && percent.value == 0 {
		memory.value = l.DefaultMemory
	}
	if !cores.given {
		cores.value = l.DefaultCores
	}
	ask := Ask{Count: int32(count.value), Compute: int32(cores.value * 10),
		MemoryMiB: int32(memory.value * l.MemoryFactor)}
	if percent.value < 100 {
		ask.MemoryPerMille = int32(percent.value * 10)
	}
	if ask.MemoryMiB == 0 && ask.MemoryPerMille == 0 || cores.value == 100 {
		ask.Compute, ask.MemoryPerMille = annotations.WholeGPU, 0
	}
	if percent.value != 0 {
		named = percent
	}
	ask.key, ask.value = named.name, strconv.FormatInt(named.value, 10)
	return ask, nil
}
