package requests

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"tephra.sh/volcano/annotations"
)

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
	t := &Table{domains: map[string]bool{}}
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
		t.noteDomain(name)
		if known := t.resources.of(name); !v.Cut || known != nil && known.role == Count {
			continue
		}
		l := &Language{Count: name, MemoryFactor: 1} // whole devices and nothing else
		if err := t.add(name, &word{role: Count, language: l}); err != nil {
			return fmt.Errorf(".devices: %w", err)
		}
		t.languages = append(t.languages, l)
	}
	for _, name := range v.MIG {
		if err := t.add(name, &word{role: MIGInstance}); err != nil {
			return fmt.Errorf(".mig: %w", err)
		}
	}
	for _, name := range v.TimeSlices {
		if err := t.add(name, &word{role: TimeSlices}); err != nil {
			return fmt.Errorf(".timeSlices: %w", err)
		}
	}
	if v.MPS != nil {
		if v.MPS.MemoryFactor == 0 {
			v.MPS.MemoryFactor = 1
		}
		if !v.Cut || v.MPS.Reason == "" || v.MPS.MemoryFactor < 1 || v.MPS.MemoryFactor > annotations.MaxDeviceMemoryMiB {
			return fmt.Errorf(".mps: memoryFactor %d, reason %q, expected 1 to %d and a reason, of the vendor that is cut",
				v.MPS.MemoryFactor, v.MPS.Reason, annotations.MaxDeviceMemoryMiB)
		}
		for role, name := range map[Role]string{MPSCores: v.MPS.Cores, MPSMemory: v.MPS.Memory} {
			if err := t.add(name, &word{role: role, mps: v.MPS, cut: true}); err != nil {
				return fmt.Errorf(".mps: %w", err)
			}
		}
	}
	for _, name := range v.Aside {
		if err := t.add(name, &word{role: Aside}); err != nil {
			return fmt.Errorf(".aside: %w", err)
		}
	}
	if v.Slot != "" {
		if !v.Cut {
			return fmt.Errorf(".slot: %q, expected none: devices of %s are not cut", v.Slot, v.Name)
		}
		if err := t.add(v.Slot, &word{role: Slot}); err != nil {
			return fmt.Errorf(".slot: %w", err)
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
		t.noteDomain(key)
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
	if isGlob(name) && meaning.role != Denied && meaning.role != MIGInstance {
		return fmt.Errorf("%q, expected one name", name)
	}
	t.noteDomain(name)
	return t.resources.add(name, meaning)
}

func (t *Table) noteDomain(name string) {
	if domain, _, has := strings.Cut(name, "/"); has && !isGlob(domain) {
		t.domains[domain] = true
	}
}
