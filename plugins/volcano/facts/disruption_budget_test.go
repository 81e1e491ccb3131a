package facts

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsThatHoldRoomAreReportedWithTheBudgetsThatGuardThem(t *testing.T) {
	web := map[string]string{"app": "web"}
	labelled := func(p *corev1.Pod) { p.Labels["app"] = "web" }
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		pdb  func(*policyv1.PodDisruptionBudget)
		want []string
	}{
		{"a pod of no group", somePod("p", "", foreign, labelled, on("n1")), nil, []string{"team/web"}},
		{"one of ours", somePod("p", "g", labelled, on("n1")), nil, []string{"team/web"}},
		{"one that waits", somePod("p", "g", labelled), nil, nil},
		{"one without the label", somePod("p", "g", on("n1")), nil, nil},
		{"all of the namespace", somePod("p", "g", on("n1")),
			func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }, []string{"team/web"}},
		{"a budget without a selector", somePod("p", "g", on("n1")),
			func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil }, nil},
		{"a budget of another namespace", somePod("p", "g", labelled, on("n1")),
			func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" }, nil},
		{"one that the budget has counted already", somePod("p", "g", labelled, on("n1")),
			func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods = map[string]metav1.Time{"p": {}} }, nil},
	} {
		feed := idleFeed(t, Options{})
		feed.setGroup(someGroup("g", 1))
		feed.setPod(test.pod)
		drained := wholeModel(t, feed)
		budget := somePDB("web", web, 1)
		if test.pdb != nil {
			test.pdb(budget)
		}
		feed.setDisruptionBudget(budget)
		if err := drained.apply(feed.Drain()); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := drained.tasks[string(test.pod.UID)].GetDisruptionBudgets(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		feed.dropDisruptionBudget(budget)
		if err := drained.apply(feed.Drain()); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := drained.tasks[string(test.pod.UID)].GetDisruptionBudgets(); len(got) > 0 || len(drained.budgets) > 0 {
			t.Errorf("%s: when the budget is gone: %v, %v", test.name, got, drained.budgets)
		}
	}
}

func TestABudgetAllowsWhatItsControllerLastSaid(t *testing.T) {
	feed := idleFeed(t, Options{})
	budget := somePDB("web", nil, 2)
	feed.setDisruptionBudget(budget)
	if got := wholeModel(t, feed).budgets["team/web"]; got != 2 {
		t.Errorf("allowed %d, want 2", got)
	}
	changed := budget.DeepCopy()
	changed.Generation = 2 // and its controller has seen the first
	feed.setDisruptionBudget(changed)
	if got := wholeModel(t, feed).budgets["team/web"]; got != 0 {
		t.Errorf("allowed %d by a stale status, want 0", got)
	}
	changed = changed.DeepCopy()
	changed.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	feed.setDisruptionBudget(changed)
	want := `PodDisruptionBudget "team/web": spec.selector: <error>, expected a label selector: "Near" is not a valid label selector operator`
	if problems := feed.Problems(); len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("problems %v, want %s", problems, want)
	}
	if m := wholeModel(t, feed); len(m.budgets) > 0 {
		t.Errorf("reported %v", m.budgets)
	}
}
