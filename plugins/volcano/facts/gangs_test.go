package facts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/tephrav1"
)

func TestAJobWithoutPodsIsReportedByItsTemplates(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	job := someJob("train", taskSpec("master", 1, container("main", "cpu", "1")), taskSpec("worker", 4))
	limit := container("main")
	limit.Resources.Limits = list("nvidia.com/gpu", "8")
	job.Spec.Tasks[1].Template.Spec.Containers = []corev1.Container{limit}
	feed.setJob(job)
	feed.setPriority(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	feed.setPriority(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "usual"}, Value: 7, GlobalDefault: true})
	feed.setGroup(someGroup("train-1", 5, ownedBy(job), func(g *schedulingv1beta1.PodGroup) {
		g.Spec.PriorityClassName = "high"
		g.CreationTimestamp = metav1.Unix(5, 0)
	}))
	m := wholeModel(t, feed)
	expect(t, "a job", m.jobs["group-train-1"], &tephrav1.Job{}, `uid: "group-train-1" name: "team/train"
		queue: "research" priority: 100 created_ms: 5000 gang { min_member: 5
		roles { name: "master" replicas: 1 min: 1 pod { containers { name: "main" kind: CONTAINER_KIND_APP requests { amount: 1000 } } } }
		roles { name: "worker" replicas: 4 min: 4 pod { containers { name: "main" kind: CONTAINER_KIND_APP devices { count: 8 compute: 1000 } } } } }`)

	// Minima of roles count only where the group asks for all of them.
	feed.setGroup(someGroup("train-1", 3, ownedBy(job)))
	for _, role := range wholeModel(t, feed).jobs["group-train-1"].Gang.Roles {
		if role.Min != 0 {
			t.Errorf("role %s: min %d, want 0", role.Name, role.Min)
		}
	}
	if got := wholeModel(t, feed).jobs["group-train-1"].Priority; got != 7 {
		t.Errorf("priority %d without a class, want the default 7", got)
	}
}

func TestWhetherTheEngineAdmitsIsASetting(t *testing.T) {
	job := someJob("train", taskSpec("worker", 2, container("main", "cpu", "1")))
	for _, admit := range []bool{true, false} {
		feed := idleFeed(t, Options{Admit: admit})
		feed.setJob(job)
		feed.setGroup(someGroup("train-1", 2, ownedBy(job)))
		if got := len(wholeModel(t, feed).jobs) == 1; got != admit {
			t.Errorf("admit %v: reported %v", admit, got)
		}
	}
}

func TestAJobOfAnotherSchedulerIsLeftOut(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	job := someJob("train", taskSpec("worker", 2, container("main", "cpu", "1")))
	job.Spec.SchedulerName = "volcano-2"
	feed.setJob(job)
	feed.setGroup(someGroup("train-1", 2, ownedBy(job)))
	if m := wholeModel(t, feed); len(m.jobs) != 0 {
		t.Errorf("reported %v", m.jobs)
	}
}

func TestAGroupWithoutPodsAndJobAsksForPartsOfItsMinimumResources(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 3, func(g *schedulingv1beta1.PodGroup) {
		resources := list("cpu", "4", "nvidia.com/gpu", "8", "requests.cpu", "4")
		g.Spec.MinResources = &resources
	}))
	expect(t, "a group", wholeModel(t, feed).jobs["group-g"].GetGang(), &tephrav1.Gang{}, `min_member: 3
		roles { name: "member" replicas: 3 pod { containers { name: "member" kind: CONTAINER_KIND_APP
			requests { amount: 1334 } devices { count: 3 compute: 1000 } } } }`)
}

// A suspended RayCluster keeps its PodGroup; a training operator makes pods once its group is admitted.
func TestAGroupWhosePodsComeWithoutWaitingAsksForNothingBefore(t *testing.T) {
	controls := true
	owned := func(version, kind string) func(*schedulingv1beta1.PodGroup) {
		return func(g *schedulingv1beta1.PodGroup) {
			g.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "o", UID: "o", Controller: &controls}}
		}
	}
	for kind, asks := range map[[2]string]bool{
		{"ray.io/v1", "RayCluster"}: false, {"v1", "Pod"}: false, {"apps/v1", "ReplicaSet"}: false, {"batch/v1", "Job"}: false,
		{"jobset.x-k8s.io/v1alpha2", "JobSet"}: false, {"trainer.kubeflow.org/v1alpha1", "TrainJob"}: false,
		{"kubeflow.org/v1", "PyTorchJob"}: true, {"example.org/v1", "Farm"}: true,
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 2, owned(kind[0], kind[1])))
		if known := wholeModel(t, feed).jobs["group-g"] != nil; known != asks {
			t.Errorf("%v without pods: reported %t, expected %t", kind, known, asks)
		}
		feed.setPod(somePod("p", "g"))
		if wholeModel(t, feed).jobs["group-g"] == nil {
			t.Errorf("%v with a pod: not reported", kind)
		}
	}
}

func TestPodsAskOnceTheirMinimumIsThere(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	job := someJob("train", taskSpec("worker", 3, container("main", "cpu", "1")))
	feed.setJob(job)
	feed.setGroup(someGroup("train-1", 2, ownedBy(job)))
	feed.setPod(somePod("w0", "train-1", task("worker", "0")))
	if m := wholeModel(t, feed); m.jobs["group-train-1"].PodsExist || len(m.tasks) != 0 {
		t.Errorf("with one pod of two: %v, tasks %v", m.jobs["group-train-1"], m.tasks)
	}
	feed.setPod(somePod("w2", "train-1", task("worker", "2")))
	m := wholeModel(t, feed)
	if !m.jobs["group-train-1"].PodsExist || m.jobs["group-train-1"].Gang.Roles[0].Replicas != 3 {
		t.Errorf("with two pods: %v", m.jobs["group-train-1"])
	}
	expect(t, "its third", m.tasks["pod-w2"], &tephrav1.Task{}, `uid: "pod-w2" job: "group-train-1"
		role: "worker" index: 2 phase: TASK_PHASE_PENDING`)
	if ref, known := feed.Pod("group-train-1", "worker", 2); !known || ref.Name != "w2" {
		t.Errorf("Pod: %v, %v", ref, known)
	}

	// One that goes leaves a group whose pods were there, until none is.
	feed.dropPod(somePod("w0", "train-1"))
	if m := wholeModel(t, feed); !m.jobs["group-train-1"].PodsExist || len(m.tasks) != 1 {
		t.Errorf("with one pod left: %v", m.jobs["group-train-1"])
	}
	feed.dropPod(somePod("w2", "train-1"))
	if m := wholeModel(t, feed); m.jobs["group-train-1"].PodsExist {
		t.Errorf("with no pod left: %v", m.jobs["group-train-1"])
	}
}

func TestPodsOfOneRoleThatDifferAreRolesOfTheirOwn(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 3, func(g *schedulingv1beta1.PodGroup) {
		g.Spec.MinTaskMember = map[string]int32{"worker": 3}
	}))
	feed.setPod(somePod("w0", "g", task("worker", "0"), on("n1")))
	feed.setPod(somePod("w1", "g", task("worker", "1")))
	feed.setPod(somePod("w2", "g", task("worker", "2"), func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{container("main", "cpu", "9")}
	}))
	m := wholeModel(t, feed)
	roles := m.jobs["group-g"].Gang.Roles
	if len(roles) != 2 || roles[0].Name != "worker" || roles[0].Min != 2 || roles[1].Name != "worker#2" || roles[1].Min != 1 {
		t.Errorf("roles %v", roles)
	}
	if task := m.tasks["pod-w2"]; task.Role != "worker#2" || task.Index != 0 {
		t.Errorf("the third: %v", task)
	}
}

func TestSomeOfUnlikePodsOfOneRole(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 2, func(g *schedulingv1beta1.PodGroup) {
		g.Spec.MinTaskMember = map[string]int32{"worker": 2}
	}))
	feed.setPod(somePod("w0", "g", task("worker", "0")))
	feed.setPod(somePod("w1", "g", task("worker", "1")))
	feed.setPod(somePod("w2", "g", task("worker", "2"), func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{container("main", "cpu", "9")}
	}))
	gang := wholeModel(t, feed).jobs["group-g"].Gang
	if got, want := inALine(gang), "2 worker=2@worker worker#2=1@worker worker>=2"; got != want {
		t.Errorf("the gang: %s, want %s", got, want)
	}
	for _, role := range gang.Roles {
		if role.Min != 0 {
			t.Errorf("the minimum of %s: %d, want that of the group", role.Name, role.Min)
		}
	}
}

func TestPhasesOfPods(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string // "": the engine does not learn of it
	}{
		{"waits", func(*corev1.Pod) {}, `phase: TASK_PHASE_PENDING`},
		{"is gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "x"}} }, ""},
		{"goes before it was bound", going, ""},
		{"is bound", on("n1"), `phase: TASK_PHASE_RUNNING node: "n1"`},
		{"is being deleted", func(p *corev1.Pod) { on("n1")(p); going(p) }, `phase: TASK_PHASE_RELEASING node: "n1"`},
		{"has succeeded", func(p *corev1.Pod) { on("n1")(p); phase(corev1.PodSucceeded)(p) }, `phase: TASK_PHASE_SUCCEEDED`},
		{"has failed", func(p *corev1.Pod) { on("n1")(p); phase(corev1.PodFailed)(p) }, `phase: TASK_PHASE_FAILED`},
	} {
		feed := idleFeed(t, Options{})
		feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) { g.Status.Phase = "Running" }))
		feed.setPod(somePod("a", "g", on("n2")))
		feed.setPod(somePod("b", "g", test.change))
		got := wholeModel(t, feed).tasks["pod-b"]
		if test.want == "" {
			if got != nil {
				t.Errorf("%s: reported %v", test.name, got)
			}
			continue
		}
		expect(t, test.name, got, &tephrav1.Task{}, `uid: "pod-b" job: "group-g" role: "member" index: 1 `+test.want)
	}
}

func TestForeignPodsTakeRoomAndEndedGroupsLeaveTheirs(t *testing.T) {
	feed := idleFeed(t, Options{})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("ours", "g", on("n1")))
	feed.setPod(somePod("theirs", "", foreign, on("n1"), func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, container("odd", "volcano.sh/gpu-memory", "5"))
	}))
	feed.setPod(somePod("waits", "", foreign))
	m := wholeModel(t, feed)
	if len(m.tasks) != 2 || m.tasks["pod-ours"].Job != "group-g" || m.tasks["pod-ours"].Pod != nil {
		t.Errorf("tasks %v", m.tasks)
	}
	expect(t, "theirs", m.tasks["pod-theirs"], &tephrav1.Task{}, `uid: "pod-theirs" phase: TASK_PHASE_RUNNING node: "n1"
		pod { containers { name: "main" kind: CONTAINER_KIND_APP requests { amount: 1000 } requests { kind: 1 amount: 1073741824 }
			devices { count: 1 compute: 1000 } }
		containers { name: "odd" kind: CONTAINER_KIND_APP devices { count: 1 compute: 1000 } } }`)

	feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) {
		g.Status.Phase = schedulingv1beta1.PodGroupCompleted
	}))
	drain := func() {
		t.Helper()
		if err := m.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
	}
	drain()
	if len(m.jobs) != 1 || m.tasks["pod-ours"].GetJob() != "group-g" {
		t.Errorf("a completed group with a pod that runs: jobs %v, tasks %v", m.jobs, m.tasks)
	}
	feed.setPod(somePod("ours", "g", on("n1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
	drain()
	if len(m.jobs) != 0 {
		t.Errorf("after the end: jobs %v, tasks %v", m.jobs, m.tasks)
	}
	// Volcano calls a group completed although pods beyond its minimum still wait.
	feed.setPod(somePod("late", "g"))
	drain()
	if len(m.jobs) != 1 || m.tasks["pod-late"].GetJob() != "group-g" {
		t.Errorf("with a pod that waits: jobs %v, tasks %v", m.jobs, m.tasks)
	}
	feed.HandedOver("pod-late", "n1", nil)
	feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) {
		g.Status.Phase, g.Labels = schedulingv1beta1.PodGroupCompleted, map[string]string{"again": "yes"}
	}))
	drain()
	if len(m.jobs) != 1 {
		t.Errorf("with a pod that is being bound: jobs %v, tasks %v", m.jobs, m.tasks)
	}
}

func TestWhatCannotBeDescribedIsAProblemOfItsGroup(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	job := someJob("train", taskSpec("worker", 2, container("main", "volcano.sh/gpu-memory", "5")))
	feed.setJob(job)
	feed.setGroup(someGroup("a", 2, ownedBy(job)))
	feed.setGroup(someGroup("b", 2, func(g *schedulingv1beta1.PodGroup) {
		g.Spec.SubGroupPolicy = []schedulingv1beta1.SubGroupPolicySpec{{Name: "x", SubGroupSize: new(int32)}}
	}))
	feed.setGroup(someGroup("c", 1))
	feed.setPod(somePod("bad", "c", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = list("n", "5E")["n"] }))
	huge := someJob("huge", batchv1alpha1.TaskSpec{Name: "worker", Replicas: 1 << 20})
	feed.setJob(huge)
	feed.setGroup(someGroup("d", 2, ownedBy(huge)))
	if m := wholeModel(t, feed); len(m.jobs) != 0 {
		t.Errorf("reported %v", m.jobs)
	}
	want := map[string]string{
		"group-a": `Job "team/train": spec.tasks[0].template.spec.containers[0].resources.limits[volcano.sh/gpu-memory]: 5, expected none, ask for volcano.sh/vgpu-memory instead`,
		"group-b": `PodGroup "team/b": spec.subGroupPolicy[0].subGroupSize: 0, expected at least 1`,
		"group-c": `Pod "team/bad": spec.containers[0].resources.requests.cpu: 5E, expected 0 to 1125899906842624`,
		"group-d": `Job "team/huge": spec.tasks[0].replicas: 1048576 pods in the Job up to this task, expected at most 65536 pods in a Job`,
	}
	changes := feed.DrainProblems()
	if len(changes) != len(want) {
		t.Errorf("changes %v", changes)
	}
	for _, change := range changes {
		if change.Gone || change.Error() != want[change.Job] {
			t.Errorf("%s:\n got %v\nwant %v", change.Job, change.Error(), want[change.Job])
		}
	}
	feed.setGroup(someGroup("b", 2))
	feed.Drain()
	if changes := feed.DrainProblems(); len(changes) != 1 || !changes[0].Gone || changes[0].Job != "group-b" {
		t.Errorf("after b is mended: %v", changes)
	}
}

// nodeWith has so many extended resources, example.com/a and so on.
func nodeWith(name string, resources int) *corev1.Node {
	node := someNode(name)
	for i := range resources {
		node.Status.Allocatable[corev1.ResourceName("example.com/"+string(rune('a'+i)))] = list("n", "1")["n"]
	}
	return node
}

func TestResourcesBeyondTheEnginesElevenAreLeftToVolcano(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(nodeWith("n", 12))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", func(p *corev1.Pod) {
		for i := range 12 {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceName("example.com/"+string(rune('a'+i)))] = list("n", "1")["n"]
		}
	}))
	m := wholeModel(t, feed)
	if len(m.kinds) != mostExtended || len(m.jobs) != 1 {
		t.Errorf("kinds %v, jobs %v", m.kinds, m.jobs)
	}
	if problems := feed.Problems(); len(problems) != 1 || problems[0].Object.Name != "example.com/l" {
		t.Errorf("problems %v", problems)
	}
	feed.setPod(somePod("p", "g", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["example.com/l"] = list("n", "1")["n"] }))
	if m := wholeModel(t, feed); len(m.kinds) != 1 || len(feed.Problems()) != 0 {
		t.Errorf("asked for less: kinds %v, problems %v", m.kinds, feed.Problems())
	}
}
