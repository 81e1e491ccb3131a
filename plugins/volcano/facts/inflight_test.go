package facts

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

func oneSlice(device uint32) []*tephrav1.Slice {
	return []*tephrav1.Slice{{Device: device, Mode: tephrav1.SliceMode_SLICE_MODE_WHOLE, Compute: 1000, MemoryMib: 5}}
}

func gpuNode(name string) *corev1.Node {
	return someNode(name, func(n *corev1.Node) {
		n.Annotations = map[string]string{annotations.InventoryKey: `{"version":1,"devices":[` +
			`{"uuid":"GPU-a","model":"T4","memoryMiB":5,"healthy":true},{"uuid":"GPU-b","model":"T4","memoryMiB":5,"healthy":true}]}`}
	})
}

// runsUntilItsBindFails: the model has the pod "p" running on n1, and waiting once its bind has failed.
func runsUntilItsBindFails(t *testing.T, feed *Feed, m *model) {
	t.Helper()
	expect(t, "while it is in flight", m.tasks["pod-p"], &tephrav1.Task{}, `uid: "pod-p" job: "group-g" role: "member"
		phase: TASK_PHASE_RUNNING node: "n1" slices { device: 1 mode: SLICE_MODE_WHOLE compute: 1000 memory_mib: 5 }`)
	feed.BindFailed("pod-p")
	if err := m.apply(feed.Drain()); err != nil {
		t.Fatal(err)
	}
	expect(t, "after the bind failed", m.tasks["pod-p"], &tephrav1.Task{},
		`uid: "pod-p" job: "group-g" role: "member" phase: TASK_PHASE_PENDING`)
}

func TestAHandedOverPodRunsForASyncAndSaysNothingToADrain(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(gpuNode("n1"))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g"))
	m := wholeModel(t, feed)

	feed.HandedOver("pod-p", "n1", oneSlice(1))
	feed.setPod(somePod("p", "g", func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{{}} }))
	if events := feed.Drain(); len(events) > 0 {
		t.Errorf("while it is in flight: %v", events)
	}
	m = wholeModel(t, feed)
	runsUntilItsBindFails(t, feed, m)
}

func TestAPodThatIsStillBeingBoundIsReportedAsRunningOnceTheEngineHasGivenItUp(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(gpuNode("n1"))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g"))
	m := wholeModel(t, feed)
	feed.HandedOver("pod-p", "n1", oneSlice(1))
	feed.StillBinding("pod-p")
	if err := m.apply(feed.Drain()); err != nil {
		t.Fatal(err)
	}
	runsUntilItsBindFails(t, feed, m)
}

func TestABoundPodHasTheSlicesOfItsAnnotation(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(gpuNode("n1"))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{container("prepare")}
	}))
	feed.Sync()
	slices := oneSlice(1)
	slices[0].Container = 1
	text, err := feed.SlicesAnnotation("pod-p", "n1", slices)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"containers":[{"name":"main","slices":[{"uuid":"GPU-b","index":1,"mode":"whole","compute":1000,"memoryMiB":5}]}]}`
	if text != want {
		t.Errorf("wrote %s", text)
	}
	boundPod := func(annotation string) *corev1.Pod {
		return somePod("p", "g", on("n1"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{container("prepare")}
			p.Annotations[annotations.SlicesKey] = annotation
		})
	}
	feed.setPod(boundPod(text))
	if got := wholeModel(t, feed).tasks["pod-p"].Slices; len(got) != 1 || !sameSlice(got[0], slices[0]) {
		t.Errorf("read %v", got)
	}

	// A device that is not there, or a text that cannot be read, leaves the guess to the engine.
	for annotation, problem := range map[string]string{
		strings.ReplaceAll(text, "GPU-b", "GPU-c"): `slices[0]: uuid "GPU-c", index 1, expected one of the 2 devices of node "n1"`,
		strings.ReplaceAll(text, "main", "other"):  `containers[0].name: other, expected a container of the pod`,
		"broken": `expected JSON`,
	} {
		feed.setPod(boundPod(annotation))
		if got := wholeModel(t, feed).tasks["pod-p"]; got.Phase != tephrav1.TaskPhase_TASK_PHASE_RUNNING || len(got.Slices) != 0 {
			t.Errorf("%s: reported %v", annotation, got)
		}
		if standing := feed.Problems(); len(standing) != 1 || !strings.Contains(standing[0].Error(), problem) || standing[0].Job != "" {
			t.Errorf("%s: problems %v", annotation, standing)
		}
	}
	feed.setPod(boundPod(text))
	feed.Drain()
	if standing := feed.Problems(); len(standing) != 0 {
		t.Errorf("mended: problems %v", standing)
	}
}

func TestARefusedJobIsForeignUntilItChanges(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("a", "g", on("n1")))
	feed.setPod(somePod("b", "g"))
	for _, event := range feed.Sync() {
		if event.GetJobUpserted() != nil {
			feed.RefusedByEngine(event, "no such thing")
		}
		if event.GetTaskUpserted() != nil {
			feed.RefusedByEngine(event, "job is not known")
		}
	}
	if problems := feed.Problems(); len(problems) != 1 || problems[0].Job != "group-g" ||
		problems[0].Error() != `PodGroup "team/g": no such thing` {
		t.Errorf("problems %v", problems)
	}
	events := feed.Drain()
	for _, event := range events {
		if task := event.GetTaskUpserted().GetTask(); task != nil && (task.Job != "" || task.Uid != "pod-a") {
			t.Errorf("reported %v", event)
		}
		if event.GetJobUpserted() != nil {
			t.Errorf("reported again: %v", event)
		}
	}
	feed.setGroup(someGroup("g", 2))
	m := newModel()
	if err := m.apply(feed.Drain()); err != nil {
		t.Fatal(err)
	}
	if len(m.jobs) != 1 || m.tasks["pod-a"].GetJob() != "group-g" || m.tasks["pod-b"].GetJob() != "group-g" {
		t.Errorf("after it changed: %v, %v", m.jobs, m.tasks)
	}
	if problems := feed.Problems(); len(problems) != 0 {
		t.Errorf("problems %v", problems)
	}
}

func TestAMaskIsSentWhenItChanges(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "x"}} }))
	classes := feed.MaskedClasses()
	if len(classes) != 1 || classes[0].Example.Name != "p" {
		t.Fatalf("classes %v", classes)
	}
	feed.SetMask(classes[0].Name, []string{"n2", "n1", "n2"})
	m := wholeModel(t, feed)
	if got := m.masks[classes[0].Name]; len(got) != 2 || m.jobs["group-g"].Gang.Roles[0].Pod.Constraints.Mask != classes[0].Name {
		t.Errorf("mask %v, job %v", got, m.jobs)
	}
	feed.SetMask(classes[0].Name, []string{"n1", "n2"})
	if events := feed.Drain(); len(events) > 0 {
		t.Errorf("the same again: %v", events)
	}
	feed.HandedOver("pod-p", "n3", nil)
	if classes := feed.MaskedClasses(); len(classes) != 0 {
		t.Errorf("no pod is pending: %v", classes)
	}
}

func TestAPodWhoseBindingWasRestoredAwayWaitsAgain(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(gpuNode("n1"))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g"))
	m := wholeModel(t, feed)
	feed.HandedOver("pod-p", "n1", oneSlice(1))
	feed.setPod(somePod("p", "g", on("n1")))
	for _, pod := range []*corev1.Pod{somePod("p", "g", on("n1")), somePod("p", "g")} {
		feed.setPod(pod)
		if err := m.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "after the restore", m.tasks["pod-p"], &tephrav1.Task{}, `uid: "pod-p" job: "group-g" role: "member" phase: TASK_PHASE_PENDING`)
}
