package facts

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

// antiTerm is one required anti-affinity.
type antiTerm struct {
	id          string
	namespaces  []string // empty: every one
	selector    k8slabels.Selector
	topologyKey string
	self        bool // it is against pods of the carrier's own namespace, the carrier among them
	numbered    bool // it tells pods of one template apart; taken for any pod of its namespaces
}

func (t *antiTerm) matches(namespace string, set k8slabels.Set) bool {
	return (len(t.namespaces) == 0 || slices.Contains(t.namespaces, namespace)) &&
		(t.numbered || t.selector.Matches(set))
}

func namesIndex(selector k8slabels.Selector) bool {
	requirements, _ := selector.Requirements()
	return slices.ContainsFunc(requirements, func(r k8slabels.Requirement) bool {
		return slices.Contains(indexLabels, r.Key())
	})
}

// antiAffinity are the pod's required anti-affinities. A namespace selector is taken for every
// namespace: that only makes more pods be judged by Volcano's own predicates.
func antiAffinity(pod *corev1.Pod) []*antiTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	var out []*antiTerm
	for _, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil {
			continue // the API server has checked it
		}
		read := &antiTerm{selector: selector, topologyKey: term.TopologyKey,
			namespaces: slices.Clone(term.Namespaces)}
		if term.NamespaceSelector != nil {
			read.namespaces = nil
		} else if len(read.namespaces) == 0 {
			read.namespaces = []string{pod.Namespace}
		}
		slices.Sort(read.namespaces)
		read.numbered = namesIndex(selector)
		read.self = !read.numbered && slices.Equal(read.namespaces, []string{pod.Namespace}) &&
			selector.Matches(k8slabels.Set(pod.Labels))
		read.id = strings.Join(read.namespaces, ",") + "|" + selector.String() + "|" + term.TopologyKey
		if !read.self {
			read.id += "|other"
		}
		out = append(out, read)
	}
	return out
}

// apart knows which living pods keep which other pods away. "At most one pod of these in a domain" is
// exact, and the engine's own business, where every pod that an anti-affinity matches carries it
// too. Where a term matches a stranger, one that does not carry it, both sides are crossed: only
// Volcano's predicates can judge them.
type apart struct {
	terms   map[string]*livingTerm
	kins    map[string]*kin
	changes map[*kin]bool // whose crossed has changed since the last look
}

// kin are pods with the same namespace, labels and anti-affinities.
type kin struct {
	id        string
	namespace string
	labels    k8slabels.Set
	carries   []*livingTerm
	pods      map[*pod]bool
	crossings int // terms that match it and that it does not carry, and strangers to those it does
}

type livingTerm struct {
	*antiTerm
	carriers  map[*kin]bool
	strangers map[*kin]bool
}

// Labels that differ between the pods of one template.
var indexLabels = []string{
	"volcano.sh/task-index", "apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name",
	"batch.kubernetes.io/job-completion-index", "controller-revision-hash",
}

// sharedLabels are the pod's labels without labels that only number it.
func sharedLabels(pod *corev1.Pod) k8slabels.Set {
	out := make(k8slabels.Set, len(pod.Labels))
	for key, value := range pod.Labels {
		if !slices.Contains(indexLabels, key) {
			out[key] = value
		}
	}
	return out
}

func kinID(pod *corev1.Pod, terms []*antiTerm) string {
	var id strings.Builder
	id.WriteString(pod.Namespace)
	set := sharedLabels(pod)
	for _, key := range sortedKeys(set) {
		id.WriteString("\x00" + key + "\x01" + set[key])
	}
	for _, term := range terms {
		id.WriteString("\x02" + term.id)
	}
	return id.String()
}

// set counts the pod in as it is now.
func (a *apart) set(p *pod) {
	terms := antiAffinity(p.obj)
	id := kinID(p.obj, terms)
	if p.kin != nil && p.kin.id == id {
		return
	}
	a.remove(p)
	k := a.kins[id]
	if k == nil {
		k = &kin{id: id, namespace: p.obj.Namespace, labels: sharedLabels(p.obj), pods: map[*pod]bool{}}
		a.kins[id] = k
		a.join(k, terms)
	}
	k.pods[p] = true
	p.kin = k
}

func (a *apart) remove(p *pod) {
	if p.kin == nil {
		return
	}
	delete(p.kin.pods, p)
	if len(p.kin.pods) == 0 {
		delete(a.kins, p.kin.id)
		a.leave(p.kin)
	}
	p.kin = nil
}

func (a *apart) join(k *kin, terms []*antiTerm) {
	for _, term := range terms {
		living := a.terms[term.id]
		if living == nil {
			living = &livingTerm{term, map[*kin]bool{}, map[*kin]bool{}}
			a.terms[term.id] = living
			for _, other := range a.kins {
				if other != k && term.matches(other.namespace, other.labels) {
					living.strangers[other] = true
					a.cross(other, +1)
				}
			}
		}
		if living.carriers[k] {
			continue // the same term twice
		}
		living.carriers[k] = true
		k.carries = append(k.carries, living)
		a.cross(k, len(living.strangers))
	}
	for _, living := range a.terms {
		if !living.carriers[k] && living.matches(k.namespace, k.labels) {
			living.strangers[k] = true
			a.cross(k, +1)
			for carrier := range living.carriers {
				a.cross(carrier, +1)
			}
		}
	}
}

func (a *apart) leave(k *kin) {
	for _, living := range k.carries {
		delete(living.carriers, k)
		if len(living.carriers) > 0 {
			continue
		}
		delete(a.terms, living.id)
		for stranger := range living.strangers {
			a.cross(stranger, -1)
		}
	}
	for _, living := range a.terms {
		if !living.strangers[k] {
			continue
		}
		delete(living.strangers, k)
		for carrier := range living.carriers {
			a.cross(carrier, -1)
		}
	}
	delete(a.changes, k)
}

func (a *apart) cross(k *kin, by int) {
	was := k.crossings > 0
	k.crossings += by
	if was != (k.crossings > 0) {
		a.changes[k] = true
	}
}

// crossed: some anti-affinity, its own or another's, must be judged by Volcano's predicates for
// this pod, or for one made from this template.
func (a *apart) crossed(pod *corev1.Pod) bool {
	terms := antiAffinity(pod)
	if slices.ContainsFunc(terms, func(term *antiTerm) bool { return !term.self }) {
		return true
	}
	if len(a.terms) == 0 && len(terms) == 0 {
		return false
	}
	if k := a.kins[kinID(pod, terms)]; k != nil {
		return k.crossings > 0
	}
	set := sharedLabels(pod)
	for id, living := range a.terms {
		carried := slices.ContainsFunc(terms, func(term *antiTerm) bool { return term.id == id })
		if carried && len(living.strangers) > 0 || !carried && living.matches(pod.Namespace, set) {
			return true
		}
	}
	return false
}
