package facts

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// limitsOf are the limits of the pod as "group max", with "-" before the maximum of an uncounted pod, and
// "mask" if Volcano's predicates judge it.
func limitsOf(t *testing.T, feed *Feed, pod *corev1.Pod) string {
	t.Helper()
	shape, wrong := feed.translator.shapeOf(pod, nil)
	if wrong != nil {
		t.Fatal(wrong)
	}
	var out []string
	for _, limit := range shape.pod.Limits {
		sign := ""
		if limit.Uncounted {
			sign = "-"
		}
		out = append(out, fmt.Sprintf("%s %s%d", strings.TrimPrefix(limit.Group, "anti-affinity/"), sign, limit.Max))
	}
	if shape.mask != "" {
		out = append(out, "mask")
	}
	return strings.Join(out, ", ")
}

func labelled(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels["app"] = app }
}

func away(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = apartFrom(app)
			return
		}
		more := apartFrom(app).PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		mine := p.Spec.Affinity.PodAntiAffinity
		mine.RequiredDuringSchedulingIgnoredDuringExecution = append(mine.RequiredDuringSchedulingIgnoredDuringExecution, more...)
	}
}

func TestTheEngineKnowsWhichPodsAnAntiAffinityKeepsApart(t *testing.T) {
	feed := idleFeed(t, Options{})
	check := func(what string, pod *corev1.Pod, want string) {
		t.Helper()
		if got := limitsOf(t, feed, pod); got != want {
			t.Errorf("%s: got %q, expected %q", what, got, want)
		}
	}
	web := somePod("web", "g", on("n1"), labelled("web"))
	check("no term is known", web, "")
	feed.setPod(web)

	loner := somePod("loner", "h", labelled("db"), away("web"))
	feed.setPod(loner)
	check("a term that does not match its carrier", loner, "team/app=web -0")
	check("a pod that it matches", web, "team/app=web 2147483647")
	feed.settleAll()
	if got := feed.pods["pod-web"].shape.pod.Limits; len(got) != 1 {
		t.Errorf("the running pod is not sent again: got %v", got)
	}

	self := somePod("self", "i", labelled("web"), away("web"))
	feed.setPod(self)
	check("a term that matches its carrier", self, "team/app=web 1")
	check("another pod that it matches", web, "team/app=web 2147483647")

	feed.setPod(somePod("guest", "", foreign, on("n1"), labelled("web")))
	feed.settleAll()
	if got := feed.Sync(); !strings.Contains(fmt.Sprint(got), "anti-affinity/team/app=web") {
		t.Error("a pod of another scheduler: no limit")
	}
	feed.dropPod(self)
	feed.dropPod(loner)
	check("the terms are gone", web, "")
}

func TestTermsOfAPodWithTooManyAreJudgedByVolcano(t *testing.T) {
	feed := idleFeed(t, Options{})
	web := somePod("web", "g", on("n1"), labelled("web"))
	feed.setPod(web)
	var pods []*corev1.Pod
	for i := range mostTerms + 1 {
		// Each keeps away another set of pods, of which web always is one.
		pod := somePod(fmt.Sprintf("p%d", i), "h", labelled("db"), away("web"))
		term := &pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", fmt.Sprintf("other-%d", i)}}}}
		if i == mostTerms {
			if got := limitsOf(t, feed, web); strings.Count(got, "2147483647") != mostTerms || strings.Contains(got, "mask") {
				t.Errorf("as many as are reported: got %q", got)
			}
		}
		feed.setPod(pod)
		pods = append(pods, pod)
	}
	for _, pod := range append(pods, web) {
		if got := limitsOf(t, feed, pod); got != "mask" {
			t.Errorf("%s, one too many: got %q, expected a mask alone", pod.Name, got)
		}
	}
	feed.dropPod(pods[0])
	if got := limitsOf(t, feed, web); strings.Contains(got, "mask") {
		t.Errorf("one less: got %q, expected no mask", got)
	}
	for _, pod := range pods[1:] {
		feed.dropPod(pod)
	}
	if len(feed.translator.apart.terms) != 0 || limitsOf(t, feed, web) != "" {
		t.Error("terms are left although no pod carries one")
	}
}
