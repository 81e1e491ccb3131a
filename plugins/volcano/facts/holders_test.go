package facts

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/tephrav1"
)

func TestPodsThatRunStayChargedWhenTheirGangBecomesInvalid(t *testing.T) {
	invalid := func(g *schedulingv1beta1.PodGroup) {
		g.Spec.SubGroupPolicy = make([]schedulingv1beta1.SubGroupPolicySpec, mostSubGroupPolicies+1)
	}
	unreadable := wants("nvidia.com/gpu", "1", "volcano.sh/vgpu-number", "1")
	for name, spoil := range map[string]func(*Feed){
		"the group": func(f *Feed) { f.setGroup(someGroup("g", 2, invalid)) },
		"a pod": func(f *Feed) {
			f.setPod(somePod("p-1", "g", unreadable, on("n1"), placedInQueue("research")))
		},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setNode(someNode("n1"))
		feed.setGroup(someGroup("g", 2))
		for _, pod := range []string{"p-0", "p-1"} {
			feed.setPod(somePod(pod, "g", on("n1"), placedInQueue("research")))
		}
		feed.setPod(somePod("p-2", "g"))
		m := newModel()
		if err := m.apply(feed.Sync()); err != nil {
			t.Fatal(err)
		}
		spoil(feed)
		for _, events := range [][]*tephrav1.Event{feed.Drain(), feed.Sync()} {
			if err := m.apply(events); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			job := m.jobs["group-g"]
			if job.GetQueue() != "research" || job.GetGang().GetMinMember() != 0 || !job.GetPodsExist() {
				t.Errorf("%s: the job is %v", name, job)
			}
			for _, pod := range []string{"pod-p-0", "pod-p-1"} {
				if task := m.tasks[pod]; task.GetJob() != "group-g" || task.GetNode() != "n1" {
					t.Errorf("%s: %s is %v", name, pod, task)
				}
			}
			if m.tasks["pod-p-2"] != nil {
				t.Errorf("%s: a pod that is pending still asks for room", name)
			}
			m = newModel()
		}
		if problems := problemsOf(feed); !strings.Contains(problems, "expected") {
			t.Errorf("%s: no problem", name)
		}
		// Nothing is left of it once its pods have ended.
		for _, pod := range []string{"p-0", "p-1"} {
			feed.dropPod(&corev1.Pod{ObjectMeta: feed.pods["pod-"+pod].obj.ObjectMeta})
		}
		if name == "the group" && wholeModel(t, feed).jobs["group-g"] != nil {
			t.Errorf("%s: the engine knows an invalid group without pods that run", name)
		}
	}
}
