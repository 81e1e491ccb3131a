// Package requests reads what pods ask of devices, in the languages that people write: whole GPUs
// (nvidia.com/gpu), HAMi's and Volcano's resources, KAI's annotations. Which names these have, and
// what is refused, is one table; docs/requests.md says what each means.
//
// Reading is pure: it knows a pod and the table, and of the cluster only what it is told.
package requests

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"tephra.sh/volcano/annotations"
)

// Table names the resources and annotations. It does not change once read, so anybody may use it.
type Table struct {
	Vendors     []Vendor `json:"vendors"`
	Annotations []Rule   `json:"annotations"`

	resources dictionary[word]
	keys      dictionary[Rule] // of annotations
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
	// Resources that pods have beside the others and that say nothing of how much.
	Aside   []string  `json:"aside"`
	Refused []Refused `json:"refused"`
}

// Language is how containers ask for parts of devices. Its keys are those that HAMi and Volcano have
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

// Rule is what becomes of annotations.
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
	Denied
)

// word is a name's meaning.
type word struct {
	role     Role
	language *Language // of Count, Memory, MemoryPercentage, Cores
	refused  *Refused
	reason   string // of Denied
	// The vendor's devices are those that containers get by inventory.
	cut bool
}

//go:embed vendors.yaml
var vendors []byte

// Default is the table that comes with the scheduler.
var Default = sync.OnceValue(func() *Table {
	t, err := Parse(vendors)
	if err != nil {
		panic(err) // a test reads it
	}
	return t
})

// Load reads a file in place of the default table; empty: the default.
func Load(file string) (*Table, error) {
	if file == "" {
		return Default(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("device resources: %w", err)
	}
	t, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("device resources %q: %w", file, err)
	}
	return t, nil
}

// Parse reads a table, and refuses fields that it does not know.
func Parse(text []byte) (*Table, error) {
	t := &Table{}
	if err := yaml.UnmarshalStrict(text, t); err != nil {
		return nil, err
	}
	cut := 0
	for i := range t.Vendors {
		if err := t.addVendor(&t.Vendors[i]); err != nil {
			return nil, fmt.Errorf("vendors[%d]%w", i, err)
		}
		if t.Vendors[i].Cut {
			cut++
		}
	}
	if cut != 1 {
		return nil, fmt.Errorf("vendors: %d with cut, expected one: nodes have one inventory", cut)
	}
	for i := range t.Annotations {
		if err := t.addRule(&t.Annotations[i]); err != nil {
			return nil, fmt.Errorf("annotations[%d]%w", i, err)
		}
	}
	return t, nil
}

func (t *Table) addVendor(v *Vendor) error {
	if v.Name == "" || len(v.Devices) == 0 {
		return fmt.Errorf(": expected a name, and resources in devices")
	}
	if !v.Cut && len(v.Languages)+len(v.AnnotationLanguages) > 0 {
		return fmt.Errorf(".languages: of %s, expected none where devices are not cut", v.Name)
	}
	for i := range v.Languages {
		l := &v.Languages[i]
		if wrong := l.check(); wrong != nil {
			return fmt.Errorf(".languages[%d].%w", i, wrong)
		}
		for role, name := range map[Role]string{Count: l.Count, Memory: l.Memory,
			MemoryPercentage: l.MemoryPercentage, Cores: l.Cores} {
			if name == "" {
				continue
			}
			if err := t.add(name, &word{role: role, language: l}); err != nil {
				return fmt.Errorf(".languages[%d]: %w", i, err)
			}
		}
		t.languages = append(t.languages, l)
	}
	for i, l := range v.AnnotationLanguages {
		if l.Fraction == "" || l.Memory == "" || l.Devices == "" || l.Container == "" {
			return fmt.Errorf(".annotationLanguages[%d]: %q, expected fraction, memory, devices and container", i, l.Name)
		}
	}
	for _, name := range v.Devices {
		if known := t.resources.of(name); !v.Cut || known != nil && known.role == Count {
			continue
		}
		l := &Language{Count: name, MemoryFactor: 1} // whole devices and nothing else
		if err := t.add(name, &word{role: Count, language: l}); err != nil {
			return fmt.Errorf(".devices: %w", err)
		}
		t.languages = append(t.languages, l)
	}
	for _, name := range v.Aside {
		if err := t.add(name, &word{role: Aside}); err != nil {
			return fmt.Errorf(".aside: %w", err)
		}
	}
	for i := range v.Refused {
		refused := &v.Refused[i]
		reason := refused.Reason
		if reason == "" {
			reason = fmt.Sprintf("none: devices of %s are not cut, ask for whole ones, as %s", v.Name, v.Devices[0])
		}
		for _, name := range refused.Resources {
			if err := t.add(name, &word{role: Denied, refused: refused, reason: reason, cut: v.Cut}); err != nil {
				return fmt.Errorf(".refused[%d]: %w", i, err)
			}
		}
	}
	return nil
}

func (t *Table) addRule(r *Rule) error {
	if r.Effect != Read && r.Effect != Ignored && r.Effect != Deny {
		return fmt.Errorf(".effect: %q, expected %q, %q or %q", r.Effect, Read, Ignored, Deny)
	}
	if (r.Effect == Deny) != (r.Reason != "") || r.Effect != Deny && r.Accepted != nil {
		return fmt.Errorf(": effect %q, expected a reason, and accepted, where %q alone", r.Effect, Deny)
	}
	for _, key := range r.Keys {
		if err := t.keys.add(key, r); err != nil {
			return fmt.Errorf(".keys: %w", err)
		}
	}
	return nil
}

func (l *Language) check() error {
	if l.MemoryFactor == 0 {
		l.MemoryFactor = 1
	}
	if l.Count == "" || l.Memory == "" {
		return fmt.Errorf("resourceCountName, resourceMemoryName: %q, %q, expected names", l.Count, l.Memory)
	}
	for _, bound := range []struct {
		field        string
		value, least int64
		most         int64
	}{
		{"memoryFactor", l.MemoryFactor, 1, annotations.MaxDeviceMemoryMiB},
		{"defaultMemory", l.DefaultMemory, 0, annotations.MaxDeviceMemoryMiB / max(l.MemoryFactor, 1)},
		{"defaultCores", l.DefaultCores, 0, 100},
		{"defaultGPUNum", l.DefaultCount, 0, annotations.MaxDevices},
	} {
		if bound.value < bound.least || bound.value > bound.most {
			return fmt.Errorf("%s: %d, expected %d to %d", bound.field, bound.value, bound.least, bound.most)
		}
	}
	return nil
}

// add gives the name its meaning. Kubernetes' own resources have no domain.
func (t *Table) add(name string, meaning *word) error {
	if !strings.Contains(name, "/") {
		return fmt.Errorf("%q, expected a name with a domain", name)
	}
	if isGlob(name) && meaning.role != Denied {
		return fmt.Errorf("%q, expected one name", name)
	}
	return t.resources.add(name, meaning)
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

// Parts are the resources that say how much of a device or what of it: amounts of no node. In order.
func (t *Table) Parts() []string {
	var out []string
	for name, meaning := range t.resources.names {
		switch meaning.role {
		case Memory, MemoryPercentage, Cores, Aside:
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// MayBeAdvertised: the resource is counted by its name where some node has it, and refused elsewhere.
func (t *Table) MayBeAdvertised(name corev1.ResourceName) bool {
	known := t.wordOf(name)
	return known != nil && known.refused != nil && known.refused.UnlessAdvertised
}
