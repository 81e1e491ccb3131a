package facts

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"tephra.sh/volcano/tephrav1"
)

// antiTerm is one required anti-affinity.
type antiTerm struct {
	id          string
	namespaces  []string // empty: every one
	selector    k8slabels.Selector
	topologyKey string
	self        bool // it matches its carrier
	numbered    bool // it tells pods of one template apart; taken for any pod of its namespaces
	exact       bool // which pods it matches is known from their namespaces and labels alone
}

func (t *antiTerm) matches(namespace string, set k8slabels.Set) bool {
	if len(t.namespaces) > 0 {
		if _, found := slices.BinarySearch(t.namespaces, namespace); !found {
			return false
		}
	}
	return t.numbered || t.selector.Matches(set)
}

func namesIndex(selector k8slabels.Selector) bool {
	requirements, _ := selector.Requirements()
	return slices.ContainsFunc(requirements, func(r k8slabels.Requirement) bool {
		return slices.Contains(indexLabels, r.Key())
	})
}

// everyOrNone: there is no selector of namespaces, or it selects every namespace.
func everyOrNone(selector *metav1.LabelSelector) bool {
	return selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

// group is what the engine calls the pods that the term matches.
func (t *antiTerm) group() string {
	return "anti-affinity/" + strings.Join(t.namespaces, ",") + "/" + t.selector.String()
}

// limit of a pod that carries the term, or that it matches.
func (t *antiTerm) limit(carried bool) *tephrav1.DomainLimit {
	out := &tephrav1.DomainLimit{Group: t.group(), TopologyKey: t.topologyKey, Max: math.MaxInt32}
	if carried && t.self {
		out.Max = 1
	} else if carried {
		out.Max, out.Uncounted = 0, true
	}
	return out
}

// antiAffinity are the pod's required anti-affinities. A namespace selector is taken for every
// namespace: that only makes more pods be judged by Volcano's own predicates.
func (a *apart) antiAffinity(pod *corev1.Pod) []*antiTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	var out []*antiTerm
	terms := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	a.left = a.left || len(terms) > mostAntiAffinities
	// A pod of ours with more is a problem. Of a foreign pod, the rest is checked when another pod is bound beside it.
	for _, term := range terms[:min(len(terms), mostAntiAffinities)] {
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
		read.exact = !read.numbered && everyOrNone(term.NamespaceSelector) && a.follows(term.TopologyKey)
		read.self = !read.numbered && read.matches(pod.Namespace, k8slabels.Set(pod.Labels))
		read.id = strings.Join(read.namespaces, ",") + "|" + selector.String() + "|" + term.TopologyKey
		if !read.exact {
			read.id += "|" + metav1.FormatLabelSelector(term.NamespaceSelector)
		}
		out = append(out, read)
	}
	return out
}

// The engine has a column of all nodes for each topology key that it has heard of, and users choose the keys.
// Terms of further keys are judged by Volcano's predicates.
const mostTopologyKeys = 32

// follows: the engine may learn of the key. Well-known keys do not count.
func (a *apart) follows(key string) bool {
	switch key {
	case corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion:
		return true
	}
	if !a.keys[key] && len(a.keys) < mostTopologyKeys {
		a.keys[key] = true
	}
	return a.keys[key]
}

// mostTerms of one pod are reported to the engine: terms that it carries and terms that match it. A user chooses
// how many there are.
const mostTerms = 16

// mostHomeTerms of the pods of one namespace are compared with other pods. Further terms are judged by Volcano's predicates
// for the pods that carry them; other pods are checked when they are bound.
const mostHomeTerms = 1024

// apart knows which living pods keep which other pods away. A term is a group of the engine: pods that
// carry the term and pods that it matches have a limit of that group. Terms that cannot be reported are
// judged by Volcano's predicates, for all of these pods.
//
// What a pod costs grows with the pods and terms of its own namespace, and with the terms that name many namespaces.
type apart struct {
	terms   map[string]*livingTerm
	kins    map[string]*kin
	changes map[*kin]bool   // whose terms are reported in another way since the last look
	keys    map[string]bool // topology keys that the engine has heard of
	left    bool            // some term was left out, and is checked when a pod is bound

	homes   map[string]int                  // how many terms each namespace has brought
	termsOf map[string]map[*livingTerm]bool // by namespace; "": of every namespace
	kinsOf  map[string]map[*kin]bool        // by namespace
}

func newApart() apart {
	return apart{terms: map[string]*livingTerm{}, kins: map[string]*kin{}, changes: map[*kin]bool{}, keys: map[string]bool{},
		homes: map[string]int{}, termsOf: map[string]map[*livingTerm]bool{}, kinsOf: map[string]map[*kin]bool{}}
}

// kin are pods with the same namespace, labels and anti-affinities.
type kin struct {
	id        string
	namespace string
	labels    k8slabels.Set
	carries   map[*livingTerm]*antiTerm // as it carries them
	matchedBy map[*livingTerm]bool      // terms that it does not carry
	pods      map[*pod]bool
}

func (k *kin) terms() int    { return len(k.carries) + len(k.matchedBy) }
func (k *kin) crowded() bool { return k.terms() > mostTerms }

type livingTerm struct {
	*antiTerm
	home      string // the namespace of its first carrier
	carriers  map[*kin]bool
	strangers map[*kin]bool // that it matches, and that do not carry it
	crowded   int           // of both, kins with too many terms
}

// reported: the engine knows all pods that the term is about.
func (t *livingTerm) reported() bool { return t.exact && t.crowded == 0 }

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
	terms := a.antiAffinity(p.obj)
	id := kinID(p.obj, terms)
	if p.kin != nil && p.kin.id == id {
		return
	}
	a.remove(p)
	k := a.kins[id]
	if k == nil {
		k = &kin{id: id, namespace: p.obj.Namespace, labels: sharedLabels(p.obj), carries: map[*livingTerm]*antiTerm{},
			matchedBy: map[*livingTerm]bool{}, pods: map[*pod]bool{}}
		a.kins[id] = k
		index(a.kinsOf, k.namespace, k, true)
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
		index(a.kinsOf, p.kin.namespace, p.kin, false)
		a.leave(p.kin)
	}
	p.kin = nil
}

func (a *apart) join(k *kin, terms []*antiTerm) {
	for _, term := range terms {
		living := a.terms[term.id]
		if living == nil && a.homes[k.namespace] >= mostHomeTerms {
			a.left = true
			continue
		}
		if living == nil {
			a.homes[k.namespace]++
			living = &livingTerm{antiTerm: term, home: k.namespace, carriers: map[*kin]bool{}, strangers: map[*kin]bool{}}
			a.terms[term.id] = living
			a.indexTerm(living, true)
			a.eachKin(term, func(other *kin) {
				if other != k && term.matches(other.namespace, other.labels) {
					living.strangers[other], other.matchedBy[living] = true, true
					a.linked(other, living)
				}
			})
		}
		if living.carriers[k] {
			continue // the same term twice
		}
		living.carriers[k], k.carries[living] = true, term
		a.linked(k, living)
	}
	a.eachTerm(k.namespace, func(living *livingTerm) {
		if !living.carriers[k] && living.matches(k.namespace, k.labels) {
			living.strangers[k], k.matchedBy[living] = true, true
			a.linked(k, living)
		}
	})
}

func (a *apart) leave(k *kin) {
	for living := range k.carries {
		delete(living.carriers, k)
		delete(k.carries, living)
		a.unlinked(k, living)
		if len(living.carriers) > 0 {
			continue
		}
		delete(a.terms, living.id)
		if a.homes[living.home]--; a.homes[living.home] == 0 {
			delete(a.homes, living.home)
		}
		a.indexTerm(living, false)
		for stranger := range living.strangers {
			delete(stranger.matchedBy, living)
			a.unlinked(stranger, living)
		}
	}
	for living := range k.matchedBy {
		delete(living.strangers, k)
		delete(k.matchedBy, living)
		a.unlinked(k, living)
	}
	delete(a.changes, k)
}

// linked: the kin has one more term.
func (a *apart) linked(k *kin, living *livingTerm) {
	a.changes[k] = true
	if k.terms() == mostTerms+1 {
		k.each(func(term *livingTerm) { a.crowd(term, +1) })
	} else if k.crowded() {
		a.crowd(living, +1)
	}
}

// unlinked: the kin had that term, too.
func (a *apart) unlinked(k *kin, living *livingTerm) {
	a.changes[k] = true
	if k.crowded() {
		a.crowd(living, -1)
	} else if k.terms() == mostTerms {
		a.crowd(living, -1)
		k.each(func(term *livingTerm) { a.crowd(term, -1) })
	}
}

func (k *kin) each(visit func(*livingTerm)) {
	for term := range k.carries {
		visit(term)
	}
	for term := range k.matchedBy {
		visit(term)
	}
}

func (a *apart) crowd(living *livingTerm, by int) {
	was := living.reported()
	living.crowded += by
	if living.reported() == was {
		return
	}
	for _, kins := range []map[*kin]bool{living.carriers, living.strangers} {
		for k := range kins {
			a.changes[k] = true
		}
	}
}

// limits are of the anti-affinities that the pod carries, or that match it, as far as they are reported to
// the engine. crossed: Volcano's predicates must judge the others. The pod may be one made from a template. Of a
// pod that has ended it is only what the pod says itself.
func (a *apart) limits(pod *corev1.Pod) (out []*tephrav1.DomainLimit, crossed bool) {
	terms := a.antiAffinity(pod)
	if len(terms) == 0 && len(a.terms) == 0 {
		return nil, false
	}
	k := a.kins[kinID(pod, terms)]
	carried := map[string]bool{}
	for _, term := range terms {
		if carried[term.id] {
			continue
		}
		carried[term.id] = true
		living := a.terms[term.id]
		reported := living != nil && living.reported() || living == nil && k == nil && term.self && term.exact
		crossed = crossed || !reported
		if reported && !ended(pod) || term.self && term.exact {
			out = append(out, term.limit(true))
		}
	}
	if ended(pod) {
		return out, false
	}
	add := func(living *livingTerm) {
		if living.reported() {
			out = append(out, living.limit(false))
		} else {
			crossed = true
		}
	}
	if k != nil && k.crowded() {
		return out, true // none of its terms is reported
	}
	if k != nil {
		for living := range k.matchedBy {
			add(living)
		}
		return out, crossed
	}
	set := sharedLabels(pod)
	a.eachTerm(pod.Namespace, func(living *livingTerm) {
		if !carried[living.id] && living.matches(pod.Namespace, set) {
			add(living)
		}
	})
	return out, crossed
}
