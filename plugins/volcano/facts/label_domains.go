package facts

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"tephra.sh/volcano/tephrav1"
)

// labelDomains are the domains that labels of nodes describe, for nodes that are in no HyperNode: one for each
// sequence of values that some node has, from the widest key on.
//
// Sources of such labels: Kubernetes, well-known labels (topology.kubernetes.io/region, zone); NVIDIA
// Topograph, its page node-labels.md (network.topology.nvidia.com/core, spine, leaf, accelerator).
type labelDomains struct {
	keys  []string // from the widest to the nearest
	tiers []string // their names
	known map[string]*labelDomain
	home  map[string]string // by node, the nearest domain that it is in
	// By node, how many HyperNodes that the engine knows have it.
	inHyperNodes map[string]int
}

// labelDomain is named after the values of its labels and of those above: "zone-a/rack-1", with "-"
// where a wider label is missing. A value of a label has no "/" and is not "-", so no two are named alike.
type labelDomain struct {
	key    int    // index of its own
	parent string // empty: none
	nodes  map[string]bool
	parts  map[string]bool
}

// CheckDomainLabels says what is wrong with keys of node labels as Options.DomainLabels.
func CheckDomainLabels(keys []string) error {
	for i, key := range keys {
		if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
			return fmt.Errorf("%q, expected the key of a label: %s", key, strings.Join(wrong, "; "))
		}
		if slices.Contains(keys[:i], key) {
			return fmt.Errorf("%q is named twice", key)
		}
	}
	return nil
}

func newLabelDomains(keys []string) labelDomains {
	return labelDomains{keys: keys, tiers: tierNames(keys), known: map[string]*labelDomain{},
		home: map[string]string{}, inHyperNodes: map[string]int{}}
}

// tierNames are the keys without what stands before their "/", where that leaves them different.
func tierNames(keys []string) []string {
	short := func(key string) string { return key[strings.LastIndex(key, "/")+1:] }
	count := map[string]int{}
	for _, key := range keys {
		count[short(key)]++
	}
	var names []string
	for _, key := range keys {
		if count[short(key)] == 1 {
			key = short(key)
		}
		names = append(names, key)
	}
	return names
}

// level is a domain on the way from the widest that a node is in to the nearest.
type level struct {
	name string
	key  int
}

// countMember: one HyperNode more or less has the node.
func (l *labelDomains) countMember(node string, by int) {
	if l.inHyperNodes[node] += by; l.inHyperNodes[node] == 0 {
		delete(l.inHyperNodes, node)
	}
}

func (l *labelDomains) path(node *corev1.Node) []level {
	var path []level
	name := ""
	for key, label := range l.keys {
		value := node.Labels[label]
		if value == "" {
			name += "-/"
			continue
		}
		path = append(path, level{name + value, key})
		name += value + "/"
	}
	return path
}

// place puts the node, nil if it is gone, where its labels and the HyperNodes say; touch is called
// with each domain that is another one then.
func (l *labelDomains) place(name string, node *corev1.Node, touch func(domain string)) {
	var path []level
	if node != nil && l.inHyperNodes[name] == 0 {
		path = l.path(node)
	}
	home := ""
	if len(path) > 0 {
		home = path[len(path)-1].name
	}
	before := l.home[name]
	if home == before {
		return
	}
	if home == "" {
		delete(l.home, name)
	} else {
		l.home[name] = home
		l.grow(path, touch).nodes[name] = true
		touch(home)
	}
	if before != "" {
		delete(l.known[before].nodes, name)
		touch(before)
		l.prune(before, touch)
	}
}

// grow makes those of the path that are not there and returns the last.
func (l *labelDomains) grow(path []level, touch func(domain string)) *labelDomain {
	parent := ""
	for _, at := range path {
		if l.known[at.name] == nil {
			l.known[at.name] = &labelDomain{key: at.key, parent: parent, nodes: map[string]bool{}, parts: map[string]bool{}}
			touch(at.name)
			if parent != "" {
				l.known[parent].parts[at.name] = true
				touch(parent)
			}
		}
		parent = at.name
	}
	return l.known[parent]
}

// prune forgets the domain and those above it as far as nothing is in them.
func (l *labelDomains) prune(name string, touch func(domain string)) {
	for name != "" {
		d := l.known[name]
		if len(d.nodes) > 0 || len(d.parts) > 0 {
			return
		}
		delete(l.known, name)
		touch(name)
		if d.parent != "" {
			delete(l.known[d.parent].parts, name)
			touch(d.parent)
		}
		name = d.parent
	}
}

func (l *labelDomains) fact(name string) *tephrav1.Domain {
	d := l.known[name]
	if d == nil {
		return nil
	}
	return &tephrav1.Domain{Name: name, Tier: int32(len(l.keys) - d.key), TierName: l.tiers[d.key],
		Nodes: sortedKeys(d.nodes), Domains: sortedKeys(d.parts)}
}

// A HyperNode may have the name of a domain that no other is around; the name of a HyperNode has no "/",
// so this one is free.
const besideHyperNode = "/"

// placeByLabels: the node, or a HyperNode that has it, is another than before.
func (f *Feed) placeByLabels(name string) {
	var obj *corev1.Node
	if n := f.nodes[name]; n != nil {
		obj = n.obj
	}
	f.byLabels.place(name, obj, f.touchDomain)
}

// touchDomain: under either name that a domain of labels may have.
func (f *Feed) touchDomain(name string) {
	f.tellDomains.touch(name)
	if !strings.Contains(name, "/") {
		f.tellDomains.touch(name + besideHyperNode)
	}
}

// labelDomainFact is of the domain as the engine is to name it.
func (f *Feed) labelDomainFact(called string) (*tephrav1.Domain, bool) {
	name, beside := strings.CutSuffix(called, besideHyperNode)
	if fact := f.byLabels.fact(name); fact != nil && beside == (f.domains[name] != nil) {
		fact.Name = called
		return fact, true
	}
	return nil, false
}

// domainNames are all names that the engine may know domains by.
func (f *Feed) domainNames() []string {
	names := sortedKeys(f.domains)
	for name := range f.byLabels.known {
		names = append(names, name, name+besideHyperNode)
	}
	return names
}
