package facts

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

func expect(t *testing.T, what string, got proto.Message, want proto.Message, text string) {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), want); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// Three GPUs, the first two by NVLinks, the last near the second.
const linked = `{"version":1,"devices":[{"model":"A","memoryMiB":5,"healthy":true,"numa":0},
	{"model":"A","memoryMiB":5,"healthy":true,"links":["NV4"]},
	{"model":"A","memoryMiB":5,"healthy":true,"links":["SYS","PIX"],"numa":1}]}`

func TestNodesAreToldWithWhatTheyHaveAndWhoMayUseThem(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*corev1.Node)
		want   string
	}{
		{"a plain node", func(*corev1.Node) {}, ``},
		{"a cordoned node", func(n *corev1.Node) { n.Spec.Unschedulable = true }, `unschedulable: true`},
		{"a node that is not ready", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
			`unschedulable: true`},
		{"a node that says nothing of itself", func(n *corev1.Node) { n.Status.Conditions = nil },
			`unschedulable: true`},
		{"a tainted node", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "a", Value: "b", Effect: corev1.TaintEffectPreferNoSchedule}}
		}, `taints { key: "a" value: "b" effect: TAINT_EFFECT_PREFER_NO_SCHEDULE }`},
		{"an inventory", func(n *corev1.Node) {
			n.Annotations = map[string]string{annotations.InventoryKey: `{"version":1,"devices":[` +
				`{"uuid":"GPU-a","model":"H100","memoryMiB":81559,"healthy":false}]}`,
				annotations.VGPURegisterKey: "GPU-b,10,5,T4,true,hami-core:"}
		}, `devices { uuid: "GPU-a" model: "H100" memory_mib: 81559 unhealthy: true }`},
		{"links, of a node that does not say otherwise", func(n *corev1.Node) {
			n.Annotations = map[string]string{annotations.InventoryKey: linked}
			n.Labels["look.example/links"] = "topology"
		}, `labels { key: "look.example/links" value: "topology" }
			devices { model: "A" memory_mib: 5 } devices { model: "A" memory_mib: 5 } devices { model: "A" memory_mib: 5 }
			gpu_links { numa_nodes: 0 numa_nodes: -1 numa_nodes: 1 pairs { type: GPU_LINK_TYPE_NVLINK nvlinks: 4 }
				pairs { type: GPU_LINK_TYPE_SYS } pairs { type: GPU_LINK_TYPE_PIX } }`},
		{"links, of a node that says they are not to be looked at", func(n *corev1.Node) {
			n.Annotations = map[string]string{annotations.InventoryKey: linked}
			n.Labels["look.example/links"] = "default"
		}, `labels { key: "look.example/links" value: "default" }
			devices { model: "A" memory_mib: 5 } devices { model: "A" memory_mib: 5 } devices { model: "A" memory_mib: 5 }`},
		{"a broken inventory counts for no devices, whatever else there is", func(n *corev1.Node) {
			n.Annotations = map[string]string{annotations.InventoryKey: `{"version":7}`,
				annotations.VGPURegisterKey: "GPU-b,10,5,T4,true,hami-core:"}
			n.Status.Allocatable[wholeGPU] = list("n", "8")["n"]
		}, ``},
		{"Volcano's inventory", func(n *corev1.Node) {
			n.Annotations = map[string]string{annotations.VGPURegisterKey: "GPU-b,10,5,T4,true,hami-core:"}
		}, `devices { uuid: "GPU-b" model: "T4" memory_mib: 5 }`},
		{"a number of GPUs", func(n *corev1.Node) {
			n.Status.Allocatable[wholeGPU] = list("n", "2")["n"]
			n.Labels[productLabel], n.Labels[gpuMemoryLabel] = "T4", "15360"
		}, `labels { key: "nvidia.com/gpu.memory" value: "15360" }
			labels { key: "nvidia.com/gpu.product" value: "T4" }
			devices { model: "T4" memory_mib: 15360 } devices { model: "T4" memory_mib: 15360 }`},
		{"resources that nobody asked for", func(n *corev1.Node) {
			n.Status.Allocatable["example.com/fpga"] = list("n", "2")["n"]
			n.Status.Allocatable["volcano.sh/vgpu-number"] = list("n", "80")["n"]
		}, ``},
	} {
		got, _ := translateNode(someNode("n1", test.change), noKinds(), "look.example/links")
		expect(t, test.name, got, &tephrav1.Node{}, `name: "n1"
			labels { key: "kubernetes.io/hostname" value: "n1" }
			allocatable { kind: 0 amount: 64000 } allocatable { kind: 1 amount: 274877906944 }
			allocatable { kind: 2 amount: 110 } `+test.want)
	}
}

func TestPodsAreToldWithTheirDemands(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	feed := idleFeed(t, Options{})
	feed.setNode(someNode("n1", func(n *corev1.Node) {
		n.Annotations = map[string]string{annotations.VGPURegisterKey: "a,1,5,NVIDIA-A100,true,x:b,1,5,NVIDIA-H100,true,x:"}
	}))
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string
	}{
		{"init containers and sidecars come first", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{container("prepare", "cpu", "2"), container("proxy", "memory", "1Ki")}
			p.Spec.InitContainers[1].RestartPolicy = &always
			p.Spec.Overhead = list("cpu", "100m")
		}, `containers { name: "prepare" kind: CONTAINER_KIND_INIT requests { kind: 0 amount: 2000 } }
			containers { name: "proxy" kind: CONTAINER_KIND_SIDECAR requests { kind: 1 amount: 1024 } }
			containers { name: "main" kind: CONTAINER_KIND_APP }
			overhead { kind: 0 amount: 100 }`},
		{"requests of the pod as a whole are what its containers ask and the rest", func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{container("main", "cpu", "1")}
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "3", "memory", "1Ki")}
			p.Spec.Overhead = list("cpu", "100m")
		}, `containers { name: "main" kind: CONTAINER_KIND_APP requests { kind: 0 amount: 1000 } }
			overhead { kind: 0 amount: 2100 } overhead { kind: 1 amount: 1024 }`},
		{"an extended resource gets a number", func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{container("main", "ephemeral-storage", "1Ki")}
		}, `containers { name: "main" kind: CONTAINER_KIND_APP requests { kind: 5 amount: 1024 } }`},
		{"selector, affinity, tolerations", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"b": "2", "a": "1"}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: corev1.NodeSelectorOpGt, Values: []string{"5"}}},
					MatchFields:      []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}},
				}}}}}
			p.Spec.Tolerations = []corev1.Toleration{{Key: "x"}, {Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
				{Key: "y", Operator: "Gt", Value: "5"}}
		}, `containers { name: "main" kind: CONTAINER_KIND_APP } constraints {
			selector { key: "a" value: "1" } selector { key: "b" value: "2" }
			affinity { expressions { key: "k" op: LABEL_OPERATOR_GT values: "5" }
				fields { key: "metadata.name" op: LABEL_OPERATOR_IN values: "n1" } }
			tolerations { key: "x" op: TOLERATION_OPERATOR_EQUAL any_effect: true }
			tolerations { op: TOLERATION_OPERATOR_EXISTS effect: TAINT_EFFECT_NO_EXECUTE } }`},
		{"part of a model's name", func(p *corev1.Pod) { p.Annotations[useModels] = "h100,v100" },
			`containers { name: "main" kind: CONTAINER_KIND_APP } constraints { device_models: "NVIDIA-H100" }`},
		{"spaces, and parts that say nothing", func(p *corev1.Pod) { p.Annotations[useModels] = " v100, h100 ,," },
			`containers { name: "main" kind: CONTAINER_KIND_APP } constraints { device_models: "NVIDIA-H100" }`},
		{"empty wishes", func(p *corev1.Pod) { p.Annotations[useModels], p.Annotations[avoidModels] = "", " " },
			`containers { name: "main" kind: CONTAINER_KIND_APP }`},
		{"models to avoid", func(p *corev1.Pod) { p.Annotations[avoidModels] = "H100" },
			`containers { name: "main" kind: CONTAINER_KIND_APP } constraints { device_models: "NVIDIA-A100" }`},
		{"a model that nobody has", func(p *corev1.Pod) { p.Annotations[useModels] = "B200" },
			`containers { name: "main" kind: CONTAINER_KIND_APP } constraints { device_models: "B200" }`},
		{"host ports", func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}, {HostPort: 53, Protocol: "UDP", HostIP: "10.0.0.1"}, {ContainerPort: 5}}
		}, `containers { name: "main" kind: CONTAINER_KIND_APP }
			limits { group: "port/TCP/80/0.0.0.0" topology_key: "kubernetes.io/hostname" max: 1 }
			limits { group: "port/UDP/53/10.0.0.1" topology_key: "kubernetes.io/hostname" max: 1 }`},
		{"away from its own kind", func(p *corev1.Pod) {
			p.Labels["app"], p.Spec.Affinity = "web", apartFrom("web")
		}, `containers { name: "main" kind: CONTAINER_KIND_APP }
			limits { group: "anti-affinity/team/app=web" topology_key: "kubernetes.io/hostname" max: 1 }`},
	} {
		pod := somePod("p", "g", func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{container("main")} }, test.change)
		shape, wrong := feed.translator.shapeOf(pod, nil)
		if wrong != nil {
			t.Errorf("%s: %v", test.name, wrong)
			continue
		}
		expect(t, test.name, shape.pod, &tephrav1.PodTemplate{}, test.want)
	}
}

func TestANodeSelectorSaysOfWhichModelsTheGPUsAre(t *testing.T) {
	feed := idleFeed(t, Options{})
	models := func() []string {
		pod := somePod("p", "g", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{productLabel: "A100-SXM4"} })
		shape, wrong := feed.translator.shapeOf(pod, nil)
		if wrong != nil {
			t.Fatal(wrong)
		}
		return shape.pod.GetConstraints().GetDeviceModels()
	}
	node := func(name, product, inventory string) *corev1.Node {
		return someNode(name, func(n *corev1.Node) {
			n.Labels[productLabel] = product
			if n.Status.Allocatable[wholeGPU] = list("n", "2")["n"]; inventory != "" {
				n.Annotations = map[string]string{annotations.VGPURegisterKey: inventory}
			}
		})
	}
	check := func(when string, want ...string) {
		t.Helper()
		if got := models(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, expected %q", when, got, want)
		}
	}
	check("no such node is known")
	feed.setNode(node("n1", "A100-SXM4", ""))
	feed.setNode(node("n2", "H100-SXM5", ""))
	check("the label is the model", "A100-SXM4")
	feed.setNode(node("n3", "A100-SXM4", "a,1,5,NVIDIA-A100,true,x:"))
	check("a node's inventory calls it otherwise", "A100-SXM4", "NVIDIA-A100")
	feed.setNode(node("n1", "A100-PCIE", ""))
	check("the label of a node changes", "NVIDIA-A100")
	feed.dropNode(node("n3", "", ""))
	check("the last such node goes")
}

func TestWhatOnlyVolcanoCanJudgeNamesAMask(t *testing.T) {
	feed := idleFeed(t, Options{})
	masked := func(change func(*corev1.Pod)) string {
		shape, wrong := feed.translator.shapeOf(somePod("p", "g", change), nil)
		if wrong != nil {
			t.Fatal(wrong)
		}
		return shape.pod.GetConstraints().GetMask()
	}
	claim := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
		}
	}
	if masked(claim("a")) == "" || masked(claim("a")) != masked(claim("a")) || masked(claim("a")) == masked(claim("b")) {
		t.Error("a claim: want one mask for equal pods, another for another claim")
	}
	if masked(func(p *corev1.Pod) { p.Spec.Affinity = apartFrom("web") }) == "" {
		t.Error("away from others: no mask")
	}
	if masked(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }) == "" {
		t.Error("a resource claim: no mask")
	}
	self := func(p *corev1.Pod) { p.Labels["app"], p.Spec.Affinity = "web", apartFrom("web") }
	if masked(self) != "" {
		t.Error("away from its own kind alone: a mask")
	}
	// One that the term matches, and that does not carry it, crosses both sides.
	feed.setPod(somePod("stranger", "", foreign, on("n1"), func(p *corev1.Pod) { p.Labels["app"] = "web" }))
	feed.setPod(somePod("kin", "g", self))
	if masked(self) == "" || feed.pods["pod-kin"].kin.crossings == 0 {
		t.Error("away from its own kind, which others are of: no mask")
	}
	if masked(func(p *corev1.Pod) { p.Labels["app"] = "web" }) == "" {
		t.Error("kept away by others: no mask")
	}
	feed.dropPod(feed.pods["pod-stranger"].obj)
	if masked(self) != "" {
		t.Error("the stranger is gone: still a mask")
	}
}

func TestAJobWithoutPodsIsToldByItsTemplates(t *testing.T) {
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

func TestWhoAdmitsIsASetting(t *testing.T) {
	job := someJob("train", taskSpec("worker", 2, container("main", "cpu", "1")))
	for _, admit := range []bool{true, false} {
		feed := idleFeed(t, Options{Admit: admit})
		feed.setJob(job)
		feed.setGroup(someGroup("train-1", 2, ownedBy(job)))
		if got := len(wholeModel(t, feed).jobs) == 1; got != admit {
			t.Errorf("admit %v: told %v", admit, got)
		}
	}
}

func TestAJobOfAnotherSchedulerIsNotTold(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	job := someJob("train", taskSpec("worker", 2, container("main", "cpu", "1")))
	job.Spec.SchedulerName = "volcano-2"
	feed.setJob(job)
	feed.setGroup(someGroup("train-1", 2, ownedBy(job)))
	if m := wholeModel(t, feed); len(m.jobs) != 0 {
		t.Errorf("told %v", m.jobs)
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

func TestPhasesOfPods(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string // "": not told
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
				t.Errorf("%s: told %v", test.name, got)
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
	events := feed.Drain()
	if err := m.apply(events); err != nil {
		t.Fatal(err)
	}
	if len(m.jobs) != 0 || m.tasks["pod-ours"].GetJob() != "" || m.tasks["pod-ours"].GetPod() == nil {
		t.Errorf("after the end: jobs %v, tasks %v", m.jobs, m.tasks)
	}
	// Volcano calls a group completed although pods beyond its minimum still wait.
	feed.setPod(somePod("late", "g"))
	if err := m.apply(feed.Drain()); err != nil {
		t.Fatal(err)
	}
	if len(m.jobs) != 1 || m.tasks["pod-late"].GetJob() != "group-g" {
		t.Errorf("with a pod that waits: jobs %v, tasks %v", m.jobs, m.tasks)
	}
}

func TestWhatCannotBeToldIsAProblemOfItsGroup(t *testing.T) {
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
		t.Errorf("told %v", m.jobs)
	}
	want := map[string]string{
		"group-a": `Job "team/train": spec.tasks[0].template.spec.containers[0].resources.limits[volcano.sh/gpu-memory]: 5, expected none, ask for volcano.sh/vgpu-memory instead`,
		"group-b": `PodGroup "team/b": spec.subGroupPolicy[0].subGroupSize: 0, expected at least 1`,
		"group-c": `Pod "team/bad": spec.containers[0].resources.requests.cpu: 5E, expected 0 to 1125899906842624`,
		"group-d": `PodGroup "team/d": tasks: 1048576, expected at most 65536`,
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

func TestResourcesBeyondTheEnginesElevenAreLeftToVolcano(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
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
