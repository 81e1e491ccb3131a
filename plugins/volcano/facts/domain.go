package facts

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"tephra.sh/volcano/tephrav1"
)

// domain is a HyperNode. Members by pattern or label are worked out here, node by node as they
// change, so that the engine knows names alone.
type domain struct {
	obj      *topologyv1alpha1.HyperNode
	known    *tephrav1.Domain // with the members that are named; nil: it cannot be described
	matches  []func(*corev1.Node) bool
	matching map[string]bool // nodes that one of them means
}

// readDomain turns a HyperNode into what the engine is to know of it. Members follow Volcano's rules: a
// HyperNode is a member by its exact name alone, a label selector without any requirement means no
// node.
func readDomain(obj *topologyv1alpha1.HyperNode) (*domain, *fault) {
	d := &domain{obj: obj, matching: map[string]bool{}}
	if obj.Spec.Tier < 0 || obj.Spec.Tier > math.MaxInt32 {
		return d, &fault{"spec.tier", strconv.Itoa(obj.Spec.Tier), "0 to 2147483647"}
	}
	nodes, domains := map[string]bool{}, map[string]bool{}
	for i, member := range obj.Spec.Members {
		selector := member.Selector
		field := fmt.Sprintf("spec.members[%d].", i)
		switch {
		case member.Type == topologyv1alpha1.MemberTypeHyperNode && selector.ExactMatch != nil:
			domains[selector.ExactMatch.Name] = true
		case member.Type == topologyv1alpha1.MemberTypeHyperNode:
			return d, &fault{field + "selector", "no exactMatch", "exactMatch for a member of type HyperNode"}
		case member.Type != topologyv1alpha1.MemberTypeNode:
			return d, &fault{field + "type", string(member.Type), "Node or HyperNode"}
		case selector.ExactMatch != nil:
			nodes[selector.ExactMatch.Name] = true
		case selector.RegexMatch != nil:
			pattern, err := regexp.Compile(selector.RegexMatch.Pattern)
			if err != nil {
				return d, &fault{field + "selector.regexMatch.pattern", selector.RegexMatch.Pattern, "a regular expression: " + err.Error()}
			}
			d.matches = append(d.matches, func(node *corev1.Node) bool { return pattern.MatchString(node.Name) })
		case selector.LabelMatch != nil:
			wanted, err := metav1.LabelSelectorAsSelector(selector.LabelMatch)
			if err != nil {
				return d, &fault{field + "selector.labelMatch", metav1.FormatLabelSelector(selector.LabelMatch), "a label selector: " + err.Error()}
			}
			d.matches = append(d.matches, func(node *corev1.Node) bool {
				return !wanted.Empty() && wanted.Matches(k8slabels.Set(node.Labels))
			})
		default:
			return d, &fault{field + "selector", "none", "exactMatch, regexMatch or labelMatch"}
		}
	}
	d.known = &tephrav1.Domain{Name: obj.Name, Tier: int32(obj.Spec.Tier), TierName: obj.Spec.TierName,
		Nodes: sortedKeys(nodes), Domains: sortedKeys(domains)}
	return d, nil
}

// means: the node, nil if it is gone, is a member by pattern or label.
func (d *domain) means(node *corev1.Node) bool {
	for _, match := range d.matches {
		if node != nil && match(node) {
			return true
		}
	}
	return false
}

func domainObject(obj *topologyv1alpha1.HyperNode) Object {
	return Object{Kind: "HyperNode", Name: obj.Name, UID: string(obj.UID)}
}

func (f *Feed) setDomain(obj *topologyv1alpha1.HyperNode) {
	d, wrong := readDomain(obj)
	for name, n := range f.nodes {
		if d.means(n.obj) {
			d.matching[name] = true
		}
	}
	f.replaceDomain(obj.Name, d)
	f.note(domainObject(obj), "", "", wrong)
}

// replaceDomain: nil for one that is gone.
func (f *Feed) replaceDomain(name string, after *domain) {
	before := f.domains[name]
	if after == nil {
		delete(f.domains, name)
	} else {
		f.domains[name] = after
	}
	f.touchDomain(name)
	for _, node := range before.members() {
		f.byLabels.countMember(node, -1)
	}
	for _, node := range after.members() {
		f.byLabels.countMember(node, +1)
	}
	for _, d := range []*domain{before, after} {
		for _, node := range d.members() {
			f.placeByLabels(node)
		}
	}
}

// members are the nodes that the engine learns of; a node that is both named and selected is listed twice.
func (d *domain) members() []string {
	if d == nil || d.known == nil {
		return nil
	}
	return slices.AppendSeq(slices.Clone(d.known.Nodes), maps.Keys(d.matching))
}

func (f *Feed) dropDomain(obj *topologyv1alpha1.HyperNode) {
	f.replaceDomain(obj.Name, nil)
	f.note(domainObject(obj), "", "", nil)
	f.problems.set(domainObject(obj), engineSays, nil)
}

// regroup: the node is another than before, or either is nil.
func (f *Feed) regroup(name string, before, after *corev1.Node) {
	if before != nil && after != nil && maps.Equal(before.Labels, after.Labels) {
		return
	}
	for _, d := range f.domains {
		if means := d.means(after); means != d.matching[name] {
			f.tellDomains.touch(d.obj.Name)
			by := -1
			if means {
				d.matching[name] = true
				by = +1
			} else {
				delete(d.matching, name)
			}
			if d.known != nil {
				f.byLabels.countMember(name, by)
			}
		}
	}
}

func (f *Feed) domainFact(name string) (*tephrav1.Domain, bool) {
	d := f.domains[name]
	if d == nil {
		return f.labelDomainFact(name)
	}
	if d.known == nil {
		return nil, false
	}
	if len(d.matching) == 0 {
		return d.known, true
	}
	nodes := maps.Clone(d.matching)
	for _, node := range d.known.Nodes {
		nodes[node] = true
	}
	return &tephrav1.Domain{Name: d.known.Name, Tier: d.known.Tier, TierName: d.known.TierName,
		Nodes: sortedKeys(nodes), Domains: d.known.Domains}, true
}
