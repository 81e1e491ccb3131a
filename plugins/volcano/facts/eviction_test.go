package facts

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// mark is an annotation; a key that begins with "label " is a label.
func mark(meta *metav1.ObjectMeta, marks map[string]string) {
	for key, value := range marks {
		if label, is := strings.CutPrefix(key, "label "); is {
			metav1.SetMetaDataLabel(meta, label, value)
		} else {
			metav1.SetMetaDataAnnotation(meta, key, value)
		}
	}
}

const (
	preemptable = schedulingv1beta1.PodPreemptable
	cooldown    = schedulingv1beta1.CooldownTime
)

func TestWhatOwnersSayAboutEvictionsIsReported(t *testing.T) {
	for _, test := range []struct {
		name       string
		group, pod map[string]string
		want       string // of the job, beyond what it has anyway
		problem    string // part of the only one
	}{
		{name: "nothing"},
		{name: "the group may be evicted", group: map[string]string{preemptable: "true"}},
		{name: "the group stays", group: map[string]string{preemptable: "false"}, want: `not_preemptible: true`},
		{name: "by a label", group: map[string]string{"label " + preemptable: "false"}, want: `not_preemptible: true`},
		{name: "an annotation goes before a label", group: map[string]string{preemptable: "true", "label " + preemptable: "false"}},
		{name: "an unreadable word protects", pod: map[string]string{preemptable: "flase"},
			problem: `Pod "team/p": metadata.annotations[volcano.sh/preemptable]: "flase", expected "true" or "false"`},
		{name: "the group's cooldown", group: map[string]string{cooldown: "600s"}, want: `min_run_ms: 600000`},
		{name: "a pod's cooldown", pod: map[string]string{"label " + cooldown: "10m", cooldown: "20m"}, want: `min_run_ms: 600000`},
		{name: "the longest counts", group: map[string]string{cooldown: "1m", annotations.MinRuntimeKey: "5m"},
			pod: map[string]string{cooldown: "2m"}, want: `min_run_ms: 300000`},
		{name: "an unreadable cooldown", group: map[string]string{annotations.MinRuntimeKey: "1m"}, pod: map[string]string{"label " + cooldown: "10"},
			want:    `min_run_ms: 60000`,
			problem: `Pod "team/p": metadata.labels[volcano.sh/cooldown-time]: "10", expected a duration such as "10m"`},
		{name: "an unreadable runtime", group: map[string]string{annotations.MinRuntimeKey: "long"},
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/min-runtime]: "long", expected a duration`},
		{name: "evictions", group: map[string]string{annotations.EvictionsKey: "3"}, want: `evictions: 3`},
		{name: "unreadable evictions", group: map[string]string{annotations.EvictionsKey: "3.5"},
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/evictions]: "3.5", expected 0 to 2147483647`},
		{name: "it saves its work", group: map[string]string{annotations.CheckpointIntervalKey: "30m"}, want: `checkpoint_interval_ms: 1800000`},
		{name: "an unreadable interval", group: map[string]string{annotations.CheckpointIntervalKey: "often"},
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/checkpoint-interval]: "often", expected a duration`},
		{name: "it may be moved", group: map[string]string{annotations.MovableKey: "true"}, want: `movable: true`},
		{name: "it says that it may not be moved", group: map[string]string{annotations.MovableKey: "false"}},
		{name: "an unreadable word moves no pod", group: map[string]string{annotations.MovableKey: "yes"},
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/movable]: "yes", expected "true" or "false"`},
		{name: "its pods restart one by one", group: map[string]string{annotations.OnMigrationKey: "task"}, want: `restarts_by_task: true`},
		{name: "its pods restart together", group: map[string]string{annotations.OnMigrationKey: "gang"}},
		{name: "an unreadable word restarts all pods", group: map[string]string{annotations.OnMigrationKey: "pod"},
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/on-migration]: "pod", expected "task" or "gang"`},
		{name: "unreadable room", group: map[string]string{annotations.ReservedRoomKey: `{"version":1,"tasks":[{"role":"a"}]}`},
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/reserved-room].tasks[0].index: absent, expected 0 to 65535`},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) { mark(&g.ObjectMeta, test.group) }))
		feed.setPod(somePod("p", "g", func(p *corev1.Pod) { mark(&p.ObjectMeta, test.pod) }))
		job := wholeModel(t, feed).jobs["group-g"]
		plain := &tephrav1.Job{NotPreemptible: job.NotPreemptible, MinRunMs: job.MinRunMs, Evictions: job.Evictions, Held: job.Held,
			Movable: job.Movable, RestartsByTask: job.RestartsByTask, CheckpointIntervalMs: job.CheckpointIntervalMs}
		expect(t, test.name, plain, &tephrav1.Job{}, test.want)
		problems := feed.Problems()
		if (test.problem == "") != (len(problems) == 0) || len(problems) > 1 ||
			len(problems) == 1 && (!strings.Contains(problems[0].Error(), test.problem) || problems[0].Job != "") {
			t.Errorf("%s: problems %v, expected %q", test.name, problems, test.problem)
		}
		feed.dropPod(feed.pods["pod-p"].obj)
		feed.dropGroup(feed.groupsOf["group-g"].obj)
		if problems := feed.Problems(); len(problems) > 0 {
			t.Errorf("%s: problems of what is gone: %v", test.name, problems)
		}
	}
}

func TestAPodThatStaysIsReportedAsSuchAndItsGroupIsNot(t *testing.T) {
	for _, test := range []struct {
		name string
		pod  func(*corev1.Pod)
		want string // of the task, beyond what it has anyway
	}{
		{"nothing", func(*corev1.Pod) {}, ""},
		{"it stays", func(p *corev1.Pod) { p.Annotations[preemptable] = "0" }, `not_preemptible: true`},
		{"an unreadable word protects", func(p *corev1.Pod) { p.Labels[preemptable] = "flase" }, `not_preemptible: true`},
		{"a priority above its group's", func(p *corev1.Pod) { p.Spec.Priority = new(int32); *p.Spec.Priority = 6 }, `priority: 6`},
		{"a priority below its group's", func(p *corev1.Pod) { p.Spec.Priority = new(int32); *p.Spec.Priority = 4 }, ""},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setPriority(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "five"}, Value: 5})
		feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) { g.Spec.PriorityClassName = "five" }))
		feed.setPod(somePod("p", "g", on("n1"), test.pod))
		m := wholeModel(t, feed)
		expect(t, test.name, m.tasks["pod-p"], &tephrav1.Task{},
			`uid: "pod-p" job: "group-g" role: "member" phase: TASK_PHASE_RUNNING node: "n1" `+test.want)
		if m.jobs["group-g"].NotPreemptible {
			t.Errorf("%s: the whole group stays", test.name)
		}
	}
}

func TestNoPodIsEvictedForAGroupThatSaysSo(t *testing.T) {
	never := corev1.PreemptNever
	for name, test := range map[string]struct {
		class, pod *corev1.PreemptionPolicy
		want       bool
	}{
		"nothing": {}, "its priority class": {class: &never, want: true}, "one of its pods": {pod: &never, want: true},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setPriority(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "five"}, PreemptionPolicy: test.class})
		feed.setGroup(someGroup("g", 2, func(g *schedulingv1beta1.PodGroup) { g.Spec.PriorityClassName = "five" }))
		feed.setPod(somePod("p", "g"))
		feed.setPod(somePod("q", "g", func(p *corev1.Pod) { p.Spec.PreemptionPolicy = test.pod }))
		if got := wholeModel(t, feed).jobs["group-g"].NeverEvicts; got != test.want {
			t.Errorf("%s: %v, expected %v", name, got, test.want)
		}
	}
}

func TestARunningTaskIsReportedWithItsStartAndItsLastCheckpoint(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	running := func(change ...func(*corev1.Pod)) *corev1.Pod {
		return somePod("p", "g", append(change, on("n1"))...)
	}
	started := func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: time.Unix(1000, 0)} }
	saved := func(text string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations[annotations.LastCheckpointKey] = text }
	}
	feed.setPod(running())
	m := wholeModel(t, feed)
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"its kubelet has seen it", running(started), `started_ms: 1000000`},
		{"it has saved", running(started, saved("1970-01-01T01:00:00+00:00")), `started_ms: 1000000 checkpointed_ms: 3600000`},
		{"it has saved again", running(started, saved("1970-01-01T02:00:00Z")), `started_ms: 1000000 checkpointed_ms: 7200000`},
		{"when cannot be read", running(started, saved("noon")), `started_ms: 1000000`},
	} {
		feed.setPod(test.pod)
		events := feed.Drain()
		if err := m.apply(events); err != nil || len(events) != 1 {
			t.Errorf("%s: %v, %v", test.name, events, err)
		}
		expect(t, test.name, m.tasks["pod-p"], &tephrav1.Task{}, `uid: "pod-p" job: "group-g" role: "member"
			phase: TASK_PHASE_RUNNING node: "n1" `+test.want)
	}
	if problems := feed.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Error(),
		`Pod "team/p": metadata.annotations[tephra.sh/last-checkpoint]: "noon", expected a time`) {
		t.Errorf("problems %v", problems)
	}
}

func TestReservedRoomGoesToTheAnnotationAndBackToTheEngine(t *testing.T) {
	whole := func(container, device uint32) *tephrav1.Slice {
		return &tephrav1.Slice{Container: container, Device: device, Mode: tephrav1.SliceMode_SLICE_MODE_WHOLE,
			Compute: 1000, MemoryMib: 5}
	}
	part := &tephrav1.Slice{Device: 2, Mode: tephrav1.SliceMode_SLICE_MODE_FRACTION, Compute: 250, MemoryMib: 2}
	text, err := ReservedRoomAnnotation([]*tephrav1.Placement{
		{Role: "worker", Index: 1, Node: "n1", Slices: []*tephrav1.Slice{whole(0, 0), whole(0, 3), part, whole(1, 3)}},
		{Role: "master", Node: "n2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"version":1,"tasks":[{"role":"worker","index":1,"node":"n1","slices":[` +
		`{"container":0,"devices":[0,3],"mode":"whole","compute":1000,"memoryMiB":5},` +
		`{"container":0,"devices":[2],"mode":"fraction","compute":250,"memoryMiB":2},` +
		`{"container":1,"devices":[3],"mode":"whole","compute":1000,"memoryMiB":5}]},` +
		`{"role":"master","index":0,"node":"n2"}]}`
	if text != want {
		t.Errorf("wrote %s", text)
	}
	feed := idleFeed(t, Options{Admit: true})
	feed.setPod(somePod("p", "g"))
	feed.setGroup(someGroup("g", 1))
	m := wholeModel(t, feed)
	held := func(value string) *schedulingv1beta1.PodGroup {
		return someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) {
			mark(&g.ObjectMeta, map[string]string{annotations.ReservedRoomKey: value})
		})
	}
	reported := func(of string) {
		t.Helper()
		if err := m.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
		expect(t, "held", &tephrav1.Job{Held: m.jobs["group-g"].Held}, &tephrav1.Job{}, of)
	}
	feed.setGroup(held(text))
	reported(`held { role: "worker" index: 1 node: "n1" slices { device: 0 mode: SLICE_MODE_WHOLE compute: 1000 memory_mib: 5 }
		slices { device: 3 mode: SLICE_MODE_WHOLE compute: 1000 memory_mib: 5 }
		slices { device: 2 mode: SLICE_MODE_FRACTION compute: 250 memory_mib: 2 }
		slices { container: 1 device: 3 mode: SLICE_MODE_WHOLE compute: 1000 memory_mib: 5 } }
		held { role: "master" node: "n2" }`)
	again := held(text)
	again.Status.Conditions = []schedulingv1beta1.PodGroupCondition{{Type: "Noise"}}
	feed.setGroup(again)
	if events := feed.Drain(); len(events) > 0 {
		t.Errorf("the same room, sent again: %v", events)
	}
	feed.setGroup(someGroup("g", 1))
	reported(``)
}

func TestRoomIsHeldUntilTheGangHasWhatItNeeds(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 2, func(g *schedulingv1beta1.PodGroup) {
		mark(&g.ObjectMeta, map[string]string{annotations.ReservedRoomKey: `{"version":1,"tasks":[]}`})
	}))
	feed.setPod(somePod("a", "g"))
	feed.setPod(somePod("b", "g"))
	spent := func(want ...string) {
		t.Helper()
		feed.Drain()
		if got := feed.SpentReservations(); !slices.Equal(got, want) {
			t.Errorf("spent %v, expected %v", got, want)
		}
	}
	spent()
	if job, known := feed.Job("group-g"); !known || !job.Reserves || job.Queue != "research" || job.Called != "team/g" {
		t.Errorf("job %+v", job)
	}
	feed.HandedOver("pod-a", "n1", nil)
	feed.HandedOver("pod-b", "n1", nil)
	spent() // a bind may fail
	feed.setPod(somePod("a", "g", on("n1")))
	spent()
	feed.setPod(somePod("b", "g", on("n1"), phase(corev1.PodSucceeded)))
	spent("group-g")
	feed.setPod(somePod("b", "g", on("n1"), going))
	spent()
	feed.setPod(somePod("a", "g", on("n1"), phase(corev1.PodSucceeded)))
	feed.setPod(somePod("b", "g", on("n1"), going, phase(corev1.PodFailed)))
	spent()
	over := feed.groupsOf["group-g"].obj.DeepCopy()
	over.Status.Phase = schedulingv1beta1.PodGroupCompleted
	feed.setGroup(over)
	spent("group-g") // it asks for nothing, and the engine knows that it is gone
	feed.dropGroup(feed.groupsOf["group-g"].obj)
	spent()
}

func TestEvictionsAreCountedFromWhateverStandsThere(t *testing.T) {
	for before, want := range map[string]string{"": "1", "1": "2", "broken": "1", "2147483647": "2147483647"} {
		if got := OnceMoreEvicted(before); got != want {
			t.Errorf("after %q: %s, expected %s", before, got, want)
		}
	}
}

func TestAPodThatMayNoLongerGoIsSentAgain(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", on("n1")))
	m := wholeModel(t, feed)
	high := int32(7)
	for _, step := range []struct {
		what   string
		change func(*corev1.Pod)
		want   func(*tephrav1.Task) bool
	}{
		{"it is protected", annotated(schedulingv1beta1.PodPreemptable, "false"), (*tephrav1.Task).GetNotPreemptible},
		{"it has a priority of its own", func(p *corev1.Pod) { p.Spec.Priority = &high },
			func(task *tephrav1.Task) bool { return task.GetPriority() == high && !task.NotPreemptible }},
	} {
		feed.setPod(somePod("p", "g", on("n1"), step.change))
		if err := m.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
		if got := m.tasks["pod-p"]; !step.want(got) {
			t.Errorf("%s: got %v", step.what, got)
		}
	}
}
