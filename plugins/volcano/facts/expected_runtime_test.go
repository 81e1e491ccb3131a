package facts

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
)

func TestHowLongAGroupRunsIsReported(t *testing.T) {
	for _, test := range []struct {
		name      string
		said      map[string]string
		deadlines []int64 // of its pods; 0: none
		want      int64   // ms
		problem   string
	}{
		{name: "no estimate", deadlines: []int64{0, 0}},
		{name: "the group says", said: map[string]string{annotations.ExpectedRuntimeKey: "1h30m"}, deadlines: []int64{60, 0}, want: 5_400_000},
		{name: "the last deadline", deadlines: []int64{60, 90}, want: 90_000},
		{name: "one that may run forever", deadlines: []int64{60, 0}},
		{name: "more than the bound", said: map[string]string{annotations.ExpectedRuntimeKey: "2000000h"}, deadlines: []int64{0}, want: mostRunMs},
		{name: "no duration", said: map[string]string{annotations.ExpectedRuntimeKey: "soon"}, deadlines: []int64{30}, want: 30_000,
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/expected-runtime]: "soon", expected a duration`},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) { mark(&g.ObjectMeta, test.said) }))
		for i, deadline := range test.deadlines {
			feed.setPod(somePod(string(rune('p'+i)), "g", func(p *corev1.Pod) {
				if deadline > 0 {
					p.Spec.ActiveDeadlineSeconds = &deadline
				}
			}))
		}
		if got := wholeModel(t, feed).jobs["group-g"].EstimatedRuntimeMs; got != test.want {
			t.Errorf("%s: %d ms, expected %d", test.name, got, test.want)
		}
		problems := feed.Problems()
		if (test.problem == "") != (len(problems) == 0) || len(problems) > 0 && !strings.Contains(problems[0].Error(), test.problem) {
			t.Errorf("%s: problems %v, expected %q", test.name, problems, test.problem)
		}
	}
}

func TestTheImageOfAGroupSortsFirst(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	for name, image := range map[string]string{"p": "pytorch:2", "q": "launcher:1", "r": ""} {
		feed.setPod(somePod(name, "g", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = image
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "sidecar", Image: "a-sidecar"})
		}))
	}
	if got := wholeModel(t, feed).jobs["group-g"].Image; got != "launcher:1" {
		t.Errorf("image %q, expected launcher:1", got)
	}
}
