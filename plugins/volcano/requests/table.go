// Package requests reads what pods ask of devices, in the languages that people write: whole GPUs
// (nvidia.com/gpu), HAMi's and Volcano's resources, KAI's annotations. Which names these have, and
// what is refused, is one table; docs/reference/requests.md says what each means.
//
// Reading is pure: it knows a pod and the table, and of the cluster only what the caller says.
package requests

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
)

// Table names the resources and annotations. It does not change once read, so any goroutine may use it.
type Table struct {
	Vendors     []Vendor `json:"vendors"`
	Annotations []Rule   `json:"annotations"`

	resources dictionary[word]
	keys      dictionary[Rule] // of annotations
	domains   map[string]bool  // of any name: annotations in other domains are not ours to read
	languages []*Language
}

// Vendor is whose devices they are. Those of one vendor, which stand in the nodes' inventories, may
// be cut; those of all others are counted by the names of their resources.
type Vendor struct {
	Name string `json:"name"`
	Cut  bool   `json:"cut"`
	// Resources that count whole devices.
	Devices             []string             `json:"devices"`
	Languages           []Language           `json:"languages"`
	AnnotationLanguages []AnnotationLanguage `json:"annotationLanguages"`
	// Resources that count MIG instances and time slices, and the shares of MPS. Where some node has
	// them they are counted by their names; else they are cut out of devices that may be.
	MIG        []string `json:"mig"`
	TimeSlices []string `json:"timeSlices"`
	MPS        *MPS     `json:"mps"`
	// Resources that pods have beside the others and that say nothing of how much.
	Aside []string `json:"aside"`
	// The resource by which a kubelet hands a container that gets devices to the node plugin: one a
	// container, of as many as the node can share its devices by. It says nothing of how much either.
	Slot    string    `json:"slot"`
	Refused []Refused `json:"refused"`
}

// Language is how containers ask for parts of devices. Its keys are the keys that HAMi and Volcano have
// in their own configuration.
type Language struct {
	Name             string `json:"name"`
	Count            string `json:"resourceCountName"`
	Memory           string `json:"resourceMemoryName"`
	MemoryPercentage string `json:"resourceMemoryPercentageName"`
	Cores            string `json:"resourceCoreName"`
	MemoryFactor     int64  `json:"memoryFactor"` // MiB; 0: 1
	DefaultMemory    int64  `json:"defaultMemory"`
	DefaultCores     int64  `json:"defaultCores"`
	DefaultCount     int64  `json:"defaultGPUNum"`
}

// MPS is how containers ask for a share of one device that MPS keeps them to.
type MPS struct {
	Cores        string `json:"resourceCoreName"` // hundredths of the compute
	Memory       string `json:"resourceMemoryName"`
	MemoryFactor int64  `json:"memoryFactor"` // MiB; 0: 1
	Reason       string `json:"reason"`       // what is expected where no device may be shared so
}

// AnnotationLanguage is how pods ask for a part of a device by annotations, as with KAI.
type AnnotationLanguage struct {
	Name      string `json:"name"`
	Fraction  string `json:"fraction"`
	Memory    string `json:"memory"` // MiB
	Devices   string `json:"devices"`
	Container string `json:"container"`
}

// Refused are resources that a container may not ask for.
type Refused struct {
	Resources []string `json:"resources"`
	// Where some node has the resource it is counted by its name.
	UnlessAdvertised bool   `json:"unlessAdvertised"`
	Reason           string `json:"reason"` // what is expected instead; empty: the vendor's devices are not cut
}

// Rule is what becomes of annotations. A "*" for a key's domain stands for those of the table.
type Rule struct {
	Keys     []string `json:"keys"`
	Effect   Effect   `json:"effect"`
	Accepted []string `json:"accepted"`
	Reason   string   `json:"reason"`
}

type Effect string

const (
	Read    Effect = "read"    // elsewhere
	Ignored Effect = "ignored" // it is a wish that may be passed over
	Deny    Effect = "refused" // any value that is not accepted
)

// Role is what a resource's name stands for.
type Role int

const (
	Foreign Role = iota // nothing of a device's: it is counted by its name, as any other
	Count
	Memory
	MemoryPercentage
	Cores
	Aside
	Slot // by which a kubelet hands a container to the node plugin
	Denied
	MIGInstance
	TimeSlices
	MPSCores
	MPSMemory
)

// word is a name's meaning.
type word struct {
	role     Role
	language *Language // of Count, Memory, MemoryPercentage, Cores
	refused  *Refused
	mps      *MPS   // of MPSCores, MPSMemory
	reason   string // of Denied
	// Containers get the vendor's devices by inventory.
	cut bool
}

// wordOf is what the name means; nil: nothing.
func (t *Table) wordOf(name corev1.ResourceName) *word {
	if !strings.Contains(string(name), "/") {
		return nil
	}
	return t.resources.of(string(name))
}

// Role is what the name stands for. `unit` is in MiB of Memory, and else 1.
func (t *Table) Role(name corev1.ResourceName) (role Role, unit int64) {
	known := t.wordOf(name)
	switch {
	case known == nil:
		return Foreign, 1
	case known.role == Memory:
		return Memory, known.language.MemoryFactor
	default:
		return known.role, 1
	}
}

// Slot is the resource by which a kubelet hands a container to the node plugin; empty: there is none.
func (t *Table) Slot() corev1.ResourceName {
	for i := range t.Vendors {
		if t.Vendors[i].Slot != "" {
			return corev1.ResourceName(t.Vendors[i].Slot)
		}
	}
	return ""
}

// Parts are the resources that say how much of a device or what of it: amounts of no node. In order.
func (t *Table) Parts() []string {
	var out []string
	for name, meaning := range t.resources.names {
		switch meaning.role {
		case Memory, MemoryPercentage, Cores, Aside, Slot, TimeSlices, MPSCores, MPSMemory:
			out = append(out, name)
		}
	}
	for _, name := range annotations.MIGResources() {
		if known := t.resources.of(name); known != nil && known.role == MIGInstance {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Counts are the resources that count devices of the vendor that is cut. In order.
func (t *Table) Counts() []string {
	var out []string
	for name, meaning := range t.resources.names {
		if meaning.role == Count {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// MayBeAdvertised: the resource is counted by its name where some node has it, and read or refused
// elsewhere.
func (t *Table) MayBeAdvertised(name corev1.ResourceName) bool {
	known := t.wordOf(name)
	return known != nil && known.mayBeAdvertised()
}

func (w *word) mayBeAdvertised() bool {
	return w.role >= MIGInstance || w.role == Slot || w.refused != nil && w.refused.UnlessAdvertised
}
