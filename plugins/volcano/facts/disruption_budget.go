package facts

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
)

// disruptionBudget is a PodDisruptionBudget.
type disruptionBudget struct {
	obj      *policyv1.PodDisruptionBudget
	selector k8slabels.Selector // nil: it cannot be read
}

func disruptionBudgetObject(obj *policyv1.PodDisruptionBudget) Object {
	return Object{"PodDisruptionBudget", obj.Namespace, obj.Name, string(obj.UID)}
}

func (f *Feed) setDisruptionBudget(obj *policyv1.PodDisruptionBudget) {
	in := f.budgets[obj.Namespace]
	if in == nil {
		in = map[string]*disruptionBudget{}
		f.budgets[obj.Namespace] = in
	}
	before, known := in[obj.Name]
	if !known && len(in) >= mostBudgets {
		f.note(disruptionBudgetObject(obj), "", "", &fault{"metadata.namespace", strconv.Quote(obj.Namespace),
			fmt.Sprintf("at most %d PodDisruptionBudgets in a namespace; evictions do not count this one", mostBudgets)})
		return
	}
	if !known || !equality.Semantic.DeepEqual(before.obj.Spec.Selector, obj.Spec.Selector) ||
		!maps.Equal(before.obj.Status.DisruptedPods, obj.Status.DisruptedPods) {
		f.touchNamespace(obj.Namespace)
	}
	selector, err := metav1.LabelSelectorAsSelector(obj.Spec.Selector)
	var wrong *fault
	if err != nil {
		selector = nil
		wrong = &fault{"spec.selector", metav1.FormatLabelSelector(obj.Spec.Selector), "a label selector: " + err.Error()}
	}
	in[obj.Name] = &disruptionBudget{obj, selector}
	f.note(disruptionBudgetObject(obj), "", "", wrong)
	f.tellBudgets.touch(obj.Namespace + "/" + obj.Name)
}

func (f *Feed) dropDisruptionBudget(obj *policyv1.PodDisruptionBudget) {
	delete(f.budgets[obj.Namespace], obj.Name)
	if len(f.budgets[obj.Namespace]) == 0 {
		delete(f.budgets, obj.Namespace)
	}
	f.touchNamespace(obj.Namespace)
	f.note(disruptionBudgetObject(obj), "", "", nil)
	f.problems.set(disruptionBudgetObject(obj), engineSays, nil)
	f.tellBudgets.touch(obj.Namespace + "/" + obj.Name)
}

// touchNamespace: which budgets its pods draw on may have changed.
func (f *Feed) touchNamespace(namespace string) {
	for uid, p := range f.pods {
		if p.obj.Namespace == namespace {
			f.tellTasks.touch(uid)
		}
	}
}

// disruptionBudgetFact is how many evictions the budget allows now. As the eviction API has it, a
// budget that its controller has not looked at since it was changed allows none.
func (f *Feed) disruptionBudgetFact(key string) (int32, bool) {
	namespace, name, _ := strings.Cut(key, "/")
	b := f.budgets[namespace][name]
	if b == nil || b.selector == nil {
		return 0, false
	}
	if b.obj.Status.ObservedGeneration < b.obj.Generation {
		return 0, true
	}
	return max(b.obj.Status.DisruptionsAllowed, 0), true
}

// budgetsOf are the budgets that evicting the pod would draw on. One that lists the pod as disrupted
// has counted it already.
func (f *Feed) budgetsOf(pod *corev1.Pod) (names []string) {
	in := f.budgets[pod.Namespace]
	if len(in) == 0 {
		return nil
	}
	for _, name := range sortedKeys(in) {
		b := in[name]
		_, disrupted := b.obj.Status.DisruptedPods[pod.Name]
		if b.selector != nil && !disrupted && b.selector.Matches(k8slabels.Set(pod.Labels)) {
			names = append(names, pod.Namespace+"/"+name)
		}
	}
	return names
}
