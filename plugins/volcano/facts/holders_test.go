package facts

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
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

// The kind of the slots gets its number when a pod or a queue that can be described names it, which may be later.
func TestAnInvalidPodThatRunsHoldsResourcesOfKindsThatAreDeclaredLater(t *testing.T) {
	gang := func(f *Feed) {
		job := someJob("later", taskSpec("worker", 1, container("main", "nvidia.com/gpu", "1", slotName, "1")))
		f.setJob(job)
		f.setGroup(someGroup("later", 1, ownedBy(job)))
	}
	limit := func(f *Feed) {
		f.setQueue(&schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "limited"},
			Spec: schedulingv1beta1.QueueSpec{Capability: list(slotName, "50")}})
	}
	for name, test := range map[string]struct {
		declare func(*Feed)
		early   bool
	}{
		"a gang in the same drain": {gang, true}, "a gang in a later drain": {gang, false}, "a queue in a later drain": {limit, false},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setNode(someNode("n1", func(n *corev1.Node) { n.Status.Allocatable[slotName] = resource.MustParse("80") }))
		m := wholeModel(t, feed)
		drain := func() {
			if err := m.apply(feed.Drain()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		feed.setGroup(someGroup("earlier", 1))
		feed.setPod(somePod("by-hand", "earlier", wants(slotName, "39"), on("n1")))
		if !test.early {
			drain()
		}
		test.declare(feed)
		drain()
		task := m.tasks["pod-by-hand"]
		if task.GetJob() != "group-earlier" || task.GetNode() != "n1" {
			t.Fatalf("%s: the task is %v", name, task)
		}
		if got := amountOf(m, slotName, m.jobs["group-earlier"].Gang.Roles[0].Pod.Containers[0].Requests); got != 39 {
			t.Errorf("%s: the pod holds %d slots, expected 39", name, got)
		}
	}
}

// Without an end no start could be reserved for a gang that waits for these pods, and other jobs would go ahead of it.
func TestPodsOfADeletedGroupEndWhenTheGroupSaid(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n1"))
	group := someGroup("train", 1, func(g *schedulingv1beta1.PodGroup) {
		mark(&g.ObjectMeta, map[string]string{annotations.ExpectedRuntimeKey: "1h"})
	})
	feed.setGroup(group)
	feed.setPod(somePod("worker", "train", on("n1"), placedInQueue("research")))
	m := wholeModel(t, feed)
	feed.dropGroup(group)
	if err := m.apply(feed.Drain()); err != nil {
		t.Fatal(err)
	}
	job := m.jobs[m.tasks["pod-worker"].GetJob()]
	if job == nil || job.GetUid() == "group-train" || job.GetEstimatedRuntimeMs() != 3_600_000 {
		t.Errorf("the pod is in %v, expected a job of 1 h that stands in", job)
	}
}

func TestPodsThatRunStayChargedWhenTheirGroupIsDeleted(t *testing.T) {
	feed, m := idleFeed(t, Options{Admit: true}), newModel()
	apply := func(events []*tephrav1.Event) {
		t.Helper()
		if err := m.apply(events); err != nil {
			t.Fatal(err)
		}
	}
	pod := func(of *Feed, changes ...func(*corev1.Pod)) {
		of.setPod(somePod("worker", "train", append([]func(*corev1.Pod){wants("nvidia.com/gpu", "1"), on("n1"), placedInQueue("prod")}, changes...)...))
	}
	feed.setQueue(&schedulingv1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "prod"}})
	feed.setNode(someNode("n1"))
	group := someGroup("train", 1)
	group.Spec.Queue = "prod"
	feed.setGroup(group)
	pod(feed)
	apply(feed.Sync())
	feed.dropGroup(group)
	apply(feed.Drain())

	restarted, fresh := idleFeed(t, Options{Admit: true}), newModel()
	restarted.setNode(someNode("n1"))
	pod(restarted)
	if err := fresh.apply(restarted.Sync()); err != nil {
		t.Fatal(err)
	}
	for name, known := range map[string]*model{"after the deletion": m, "after a restart": fresh} {
		task := known.tasks["pod-worker"]
		if job := known.jobs[task.GetJob()]; job.GetQueue() != "prod" || task.GetNode() != "n1" || len(known.jobs) != 1 {
			t.Errorf("%s: task %v of job %v, expected a job in queue prod", name, task, job)
		}
	}

	feed.setGroup(group) // created again with the same pods
	apply(feed.Drain())
	if job := m.tasks["pod-worker"].GetJob(); job != string(group.UID) || len(m.jobs) != 1 {
		t.Errorf("created again: the task is of job %q, of %d jobs", job, len(m.jobs))
	}
	feed.dropGroup(group)
	pod(feed, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	apply(feed.Drain())
	if len(m.jobs) != 0 {
		t.Errorf("ended: jobs %v, expected none", m.jobs)
	}
}
