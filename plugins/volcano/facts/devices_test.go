package facts

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/tephrav1"
)

// gpus gives the node an inventory: "model memory" of each device.
func gpus(t *testing.T, devices ...annotations.Device) func(*corev1.Node) {
	t.Helper()
	text, err := annotations.FormatInventory(devices)
	if err != nil {
		t.Fatal(err)
	}
	return func(n *corev1.Node) { n.Annotations = map[string]string{annotations.InventoryKey: text} }
}

var (
	h100 = annotations.Device{Model: "NVIDIA H100", MemoryMiB: 80000, Healthy: true}
	a100 = annotations.Device{Model: "NVIDIA A100", MemoryMiB: 40000, Healthy: true}
)

func has(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for name, quantity := range list(pairs...) {
			n.Status.Allocatable[name] = quantity
		}
	}
}

// wants makes the pod's one container ask for that and nothing else.
func wants(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{container("main", pairs...)} }
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

// asked is what the job's first container asks of devices; nil if the engine does not learn of the job.
func asked(m *model, job string) *tephrav1.DeviceRequest {
	if m.jobs[job] == nil {
		return nil
	}
	return m.jobs[job].Gang.Roles[0].Pod.Containers[0].Devices
}

func problemOf(feed *Feed, job string) string {
	for _, problem := range feed.Problems() {
		if problem.Job == job {
			return problem.Error()
		}
	}
	return ""
}

func TestAPartOfTheMemoryIsAnAmountWhereAllDevicesAreOfOneSize(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes [][]annotations.Device
		pod   []func(*corev1.Pod)
		want  string // of the request; after a "!", part of the problem
	}{
		{"one model", [][]annotations.Device{{h100, h100}, {h100}}, []func(*corev1.Pod){
			wants("nvidia.com/gpu", "1", "nvidia.com/gpumem-percentage", "30", "nvidia.com/gpucores", "20")},
			"count: 1 compute: 200 memory_mib: 24000"},
		{"Volcano's word", [][]annotations.Device{{h100}}, []func(*corev1.Pod){
			wants("volcano.sh/vgpu-number", "2", "volcano.sh/vgpu-memory-percentage", "50")}, "count: 2 memory_mib: 40000"},
		{"KAI's", [][]annotations.Device{{h100}}, []func(*corev1.Pod){wants("cpu", "1"), annotated("gpu-fraction", "0.333")},
			"count: 1 compute: 333 memory_mib: 26640"},
		{"models of one size", [][]annotations.Device{{h100, {Model: "H800", MemoryMiB: 80000}}},
			[]func(*corev1.Pod){wants("nvidia.com/gpumem-percentage", "50")}, "count: 1 memory_mib: 40000"},
		{"less than a MiB", [][]annotations.Device{{{Model: "tiny", MemoryMiB: 50}}},
			[]func(*corev1.Pod){wants("nvidia.com/gpumem-percentage", "1")}, "count: 1 memory_mib: 1"},
		{"the model is chosen", [][]annotations.Device{{h100}, {a100}}, []func(*corev1.Pod){
			wants("nvidia.com/gpumem-percentage", "50"), annotated(useModels, "a100")}, "count: 1 memory_mib: 20000"},
		{"a model is avoided", [][]annotations.Device{{h100}, {a100}}, []func(*corev1.Pod){
			wants("nvidia.com/gpumem-percentage", "50"), annotated(avoidModels, "a100")}, "count: 1 memory_mib: 40000"},
		{"two sizes", [][]annotations.Device{{h100}, {a100}}, []func(*corev1.Pod){wants("nvidia.com/gpumem-percentage", "50")},
			`!Pod "team/p": spec.containers[0].resources.limits[nvidia.com/gpumem-percentage]: 50, expected an amount in MiB, ` +
				`or models of one size: the pod may use GPUs of 40000 MiB (NVIDIA A100), 80000 MiB (NVIDIA H100)`},
		{"two sizes of a model", [][]annotations.Device{{{Model: "A100", MemoryMiB: 40000}, {Model: "A100", MemoryMiB: 80000}}},
			[]func(*corev1.Pod){wants("cpu", "1"), annotated("gpu-fraction", "0.5")},
			`!metadata.annotations[gpu-fraction]: "0.5", expected an amount in MiB, ` +
				`or models of one size: the pod may use GPUs of 40000 MiB (A100), 80000 MiB (A100)`},
		{"no such model", [][]annotations.Device{{h100}}, []func(*corev1.Pod){
			wants("nvidia.com/gpumem-percentage", "50"), annotated(useModels, "B200")}, "!no node has a GPU that the pod may use"},
		{"no GPU at all", nil, []func(*corev1.Pod){wants("nvidia.com/gpumem-percentage", "50")}, "!no node has a GPU that the pod may use"},
		{"all of it needs no size", [][]annotations.Device{{h100}, {a100}}, []func(*corev1.Pod){
			wants("nvidia.com/gpumem-percentage", "100")}, "count: 1 compute: 1000"},
	} {
		feed := idleFeed(t, Options{Admit: true})
		for i, devices := range test.nodes {
			feed.setNode(someNode("n"+string(rune('1'+i)), gpus(t, devices...)))
		}
		feed.setGroup(someGroup("g", 1))
		feed.setPod(somePod("p", "g", test.pod...))
		got := asked(wholeModel(t, feed), "group-g")
		if problem := problemOf(feed, "group-g"); test.want[0] == '!' {
			if got != nil || !strings.Contains(problem, test.want[1:]) {
				t.Errorf("%s: got %v, problem %s", test.name, got, problem)
			}
			continue
		} else if problem != "" {
			t.Errorf("%s: %s", test.name, problem)
			continue
		}
		expect(t, test.name, got, &tephrav1.DeviceRequest{}, test.want)
	}

	counted := idleFeed(t, Options{Admit: true})
	counted.setNode(someNode("n1", has("nvidia.com/gpu", "2")))
	counted.setGroup(someGroup("g", 1))
	counted.setPod(somePod("p", "g", wants("nvidia.com/gpumem-percentage", "50")))
	counted.Sync()
	if problem := problemOf(counted, "group-g"); !strings.Contains(problem, "the nodes do not say what memory the GPUs have") {
		t.Errorf("nodes that only count: %s", problem)
	}
}

func TestPartsAreReadAgainAsNodesComeAndGo(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", wants("nvidia.com/gpumem-percentage", "50")))
	job := someJob("to-come", taskSpec("worker", 1, container("main", "nvidia.com/gpumem-percentage", "50")))
	feed.setJob(job)
	feed.setGroup(someGroup("h", 1, ownedBy(job)))
	m := wholeModel(t, feed)
	steps := []struct {
		what   string
		change func()
		want   int32 // MiB; 0: the engine does not learn of the job
	}{
		{"no node", func() {}, 0},
		{"one", func() { feed.setNode(someNode("n1", gpus(t, h100))) }, 40000},
		{"one of another size", func() { feed.setNode(someNode("n2", gpus(t, a100))) }, 0},
		{"it goes", func() { feed.dropNode(someNode("n2")) }, 40000},
		{"the first has other cards", func() { feed.setNode(someNode("n1", gpus(t, a100))) }, 20000},
	}
	for _, step := range steps {
		step.change()
		if err := m.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
		for _, group := range []string{"group-g", "group-h"} {
			if got := asked(m, group); got.GetMemoryMib() != step.want {
				t.Errorf("%s: %s: got %v", step.what, group, got)
			}
		}
	}
}

func TestAPodThatRunsHasItsPartOfTheDevicesOfItsNode(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", on("n1"), wants("nvidia.com/gpumem-percentage", "50")))
	feed.setPod(somePod("theirs", "", foreign, on("n2"), wants("nvidia.com/gpumem-percentage", "50")))
	feed.setNode(someNode("n1", gpus(t, h100)))
	feed.setNode(someNode("n2", gpus(t, a100)))
	m := wholeModel(t, feed)
	if got := asked(m, "group-g"); got.GetMemoryMib() != 40000 {
		t.Errorf("ours: got %v", got)
	}
	// What has ended keeps its part, or a gang would be refused for it.
	feed.setPod(somePod("p", "g", on("n1"), phase(corev1.PodSucceeded), wants("nvidia.com/gpumem-percentage", "50")))
	if got := asked(wholeModel(t, feed), "group-g"); got.GetMemoryMib() != 40000 {
		t.Errorf("ours, ended: got %v", got)
	}
	if got := m.tasks["pod-theirs"].GetPod().GetContainers()[0].Devices; got.GetMemoryMib() != 20000 || got.Compute != 0 {
		t.Errorf("theirs: got %v", got)
	}
}

func TestKAIsAnnotationsCountForOurPodsAlone(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n1", gpus(t, h100)))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("ours", "g", wants("cpu", "1"), annotated("gpu-memory", "2000")))
	feed.setPod(somePod("theirs", "", foreign, on("n1"), wants("cpu", "1"), annotated("gpu-memory", "2000"), annotated("nvidia.com/use-gpuindexes", "a")))
	m := wholeModel(t, feed)
	expect(t, "ours", asked(m, "group-g"), &tephrav1.DeviceRequest{}, "count: 1 memory_mib: 2000")
	if got := m.tasks["pod-theirs"].GetPod().GetContainers()[0].Devices; got != nil {
		t.Errorf("theirs: got %v", got)
	}
}

func TestARefusedAnnotationIsAProblemOfItsGroup(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", annotated("nvidia.com/use-gpuindexes", "0")))
	if m := wholeModel(t, feed); len(m.jobs) != 0 {
		t.Errorf("reported %v", m.jobs)
	}
	if problem := problemOf(feed, "group-g"); !strings.HasPrefix(problem, `Pod "team/p": metadata.annotations[nvidia.com/use-gpuindexes]: "0", expected none`) {
		t.Errorf("problem: %s", problem)
	}
}

func TestDevicesThatAreNotCutAreCountedByTheirResource(t *testing.T) {
	for _, name := range []string{"nvidia.com/mig-1g.10gb", "huawei.com/Ascend910", "huawei.com/Ascend910B4", "iluvatar.ai/gpu", "amd.com/gpu"} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setNode(someNode("n1", has(name, "8")))
		feed.setGroup(someGroup("g", 1))
		feed.setPod(somePod("p", "g", wants(name, "2")))
		queue := &schedulingv1beta1.Queue{}
		queue.Name, queue.Spec.Capability = "research", list(name, "4")
		feed.setQueue(queue)
		m := wholeModel(t, feed)
		if !slices.Equal(m.kinds, []string{name}) {
			t.Errorf("%s: kinds %v", name, m.kinds)
		}
		pod := m.jobs["group-g"].GetGang().GetRoles()[0].Pod
		if got := pod.Containers[0]; got.Devices != nil || len(got.Requests) != 1 || got.Requests[0].Kind != 5 || got.Requests[0].Amount != 2 {
			t.Errorf("%s: asks %v", name, got)
		}
		if got := m.nodes["n1"].Allocatable; got[len(got)-1].Kind != 5 || got[len(got)-1].Amount != 8 || len(m.nodes["n1"].Devices) != 0 {
			t.Errorf("%s: the node has %v", name, m.nodes["n1"])
		}
		if got := m.queues["research"].Limit; len(got) != 1 || got[0].Kind != 5 || got[0].Amount != 4 {
			t.Errorf("%s: the queue has %v", name, got)
		}
	}
}

func TestAPartOfAnotherVendorsDeviceTakesNoKindAndNoGPU(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n1", has("huawei.com/Ascend910B4", "8", "huawei.com/Ascend910B4-memory", "99")))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", wants("huawei.com/Ascend910B4", "1", "huawei.com/Ascend910B4-memory", "5")))
	feed.setPod(somePod("theirs", "", foreign, on("n1"), wants("huawei.com/Ascend910B4", "1", "huawei.com/Ascend910B4-memory", "5")))
	m := wholeModel(t, feed)
	if len(m.kinds) != 0 || len(m.jobs) != 0 || m.tasks["pod-theirs"].GetPod().GetContainers()[0].Devices != nil {
		t.Errorf("kinds %v, jobs %v, tasks %v", m.kinds, m.jobs, m.tasks)
	}
	if problem := problemOf(feed, "group-g"); !strings.Contains(problem, "limits[huawei.com/Ascend910B4-memory]: 5, expected none: devices of Ascend are not cut") {
		t.Errorf("problem: %s", problem)
	}
}

func TestMPSIsCountedOnceANodeHasIt(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", wants("nvidia.com/mps-core", "50", "nvidia.com/mps-memory", "8")))
	feed.setNode(someNode("n0"))
	m := wholeModel(t, feed)
	if problem := problemOf(feed, "group-g"); len(m.jobs) != 0 || !strings.Contains(problem, "limits[nvidia.com/mps-core]: 50, expected none: no node has it") {
		t.Errorf("before: jobs %v, problem %s", m.jobs, problem)
	}
	withMPS := someNode("n1", has("nvidia.com/mps-core", "100", "nvidia.com/mps-memory", "80"))
	apply := func() {
		t.Helper()
		if err := m.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
	}
	feed.setNode(withMPS)
	apply()
	main := m.jobs["group-g"].GetGang().GetRoles()
	if len(main) != 1 || len(main[0].Pod.Containers[0].Requests) != 2 || !slices.Equal(m.kinds, []string{"nvidia.com/mps-core", "nvidia.com/mps-memory"}) {
		t.Errorf("with a node that has it: %v, kinds %v", main, m.kinds)
	}
	if got := m.nodes["n1"].Allocatable; got[len(got)-1].Amount != 80 {
		t.Errorf("the node has %v", got)
	}
	feed.setNode(withMPS) // once is enough
	feed.dropNode(withMPS)
	apply()
	if len(m.jobs) != 0 {
		t.Errorf("once it has gone: %v", m.jobs)
	}
}

func TestAQueueIsReportedInAnyLanguagesWords(t *testing.T) {
	queue := &schedulingv1beta1.Queue{}
	queue.Name = "research"
	queue.Spec.Capability = list("nvidia.com/gpucores", "250", "nvidia.com/gpumem", "8000", "nvidia.com/gpumem-percentage", "5",
		"volcano.sh/vgpu-number", "3", "nvidia.com/priority", "1", "amd.com/gpumem", "7")
	got, wrong := translateQueue(queue, noKinds())
	if wrong != nil {
		t.Fatal(wrong)
	}
	expect(t, "a queue", got, &tephrav1.Queue{}, `name: "research" parent: "root" weight: 1 state: QUEUE_STATE_OPEN
		limit { kind: 3 amount: 2500 } limit { kind: 4 amount: 8000 } limited_kinds: [3, 4]`)
}

func TestTheTableIsTheCallers(t *testing.T) {
	table, err := requests.Parse([]byte(`vendors: [{name: NVIDIA, cut: true, devices: [nvidia.com/gpu],
		languages: [{resourceCountName: example.com/vgpu, resourceMemoryName: example.com/mem, memoryFactor: 10}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	feed := idleFeed(t, Options{Admit: true, Devices: table})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", wants("example.com/vgpu", "1", "example.com/mem", "20")))
	expect(t, "the request", asked(wholeModel(t, feed), "group-g"), &tephrav1.DeviceRequest{}, "count: 1 memory_mib: 200")
}

func TestATimeSliceIsOnePartOfTheMostReplicas(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", wants("nvidia.com/gpu.shared", "1")))
	m := wholeModel(t, feed)
	if !slices.Equal(m.kinds, []string{"nvidia.com/gpu.shared"}) {
		t.Errorf("without such a GPU it is counted by its name: kinds %v", m.kinds)
	}
	shared := func(name string, replicas int32) *corev1.Node {
		return someNode(name, gpus(t, annotations.Device{Model: "T4", MemoryMiB: 16384, Healthy: true, Sharing: annotations.Sharing{
			Modes: []annotations.Mode{annotations.TimeSlice}, Replicas: replicas}}))
	}
	unbounded, four, eight := shared("n0", 0), shared("n4", 4), shared("n8", 8)
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"no bound", func() { feed.setNode(unbounded) }, "count: 1 compute: 100 sharing: SHARING_TIME_SLICE"},
		{"four at a time", func() { feed.setNode(four) }, "count: 1 compute: 250 sharing: SHARING_TIME_SLICE"},
		{"eight elsewhere", func() { feed.setNode(eight) }, "count: 1 compute: 125 sharing: SHARING_TIME_SLICE"},
		{"four again", func() { feed.dropNode(eight) }, "count: 1 compute: 250 sharing: SHARING_TIME_SLICE"},
	} {
		step.change()
		if err := m.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
		expect(t, step.name, asked(m, "group-g"), &tephrav1.DeviceRequest{}, step.want)
	}
}

func TestMIGAndMPSAreAskedForWhereDevicesMayBeSharedSo(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", wants("nvidia.com/mig-1g.5gb", "1")))
	feed.setGroup(someGroup("h", 1))
	asUser := somePod("q", "h", wants("nvidia.com/mps-core", "50"))
	user := int64(1000)
	asUser.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user}
	asUser.Annotations["nvidia.com/use-gpuuuid"] = "GPU-a, GPU-b"
	asUser.Annotations["volcano.sh/vgpu-nouse-gpuuuid"] = "GPU-c"
	feed.setPod(asUser)
	m := wholeModel(t, feed)
	if !slices.Equal(m.kinds, []string{"nvidia.com/mig-1g.5gb"}) || m.jobs["group-h"] != nil {
		t.Errorf("before: kinds %v, jobs %v", m.kinds, m.jobs)
	}
	cut := someNode("n1", gpus(t, annotations.Device{Model: "A100", MemoryMiB: 40960, Healthy: true, Sharing: annotations.Sharing{
		Modes: []annotations.Mode{annotations.MPS, annotations.MIG}, MIGModel: "A100-40GB", MPSClients: 16}}))
	feed.setNode(cut)
	if err := m.apply(feed.Drain()); err != nil {
		t.Fatal(err)
	}
	expect(t, "the device", m.nodes["n1"].Devices[0], &tephrav1.Device{},
		`model: "A100" memory_mib: 40960 modes: [SLICE_MODE_MPS, SLICE_MODE_MIG] mps_clients: 16 mig_model: "A100-40GB"`)
	expect(t, "by MIG", asked(m, "group-g"), &tephrav1.DeviceRequest{}, `count: 1 sharing: SHARING_MIG mig_profile: "1g.5gb"`)
	expect(t, "by MPS", asked(m, "group-h"), &tephrav1.DeviceRequest{}, "count: 1 compute: 500 sharing: SHARING_MPS")
	pod := m.jobs["group-h"].Gang.Roles[0].Pod
	if pod.UserId != 1000 || !slices.Equal(pod.Constraints.DeviceUuids, []string{"GPU-a", "GPU-b"}) ||
		!slices.Equal(pod.Constraints.ExcludedUuids, []string{"GPU-c"}) {
		t.Errorf("the pod: %v", pod)
	}
	feed.dropNode(cut)
	if err := m.apply(feed.Drain()); err != nil {
		t.Fatal(err)
	}
	if m.jobs["group-h"] != nil || asked(m, "group-g") != nil {
		t.Errorf("once it has gone: %v", m.jobs)
	}
}

func TestASlicesInstanceIsWrittenByNameAndReadBack(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n1", gpus(t, annotations.Device{UUID: "GPU-a", Model: "A100", MemoryMiB: 40960, Healthy: true,
		Sharing: annotations.Sharing{Modes: []annotations.Mode{annotations.MIG}, MIGModel: "A100-40GB"}})))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("p", "g", wants("nvidia.com/mig-3g.20gb", "1")))
	chosen := []*tephrav1.Slice{{Mode: tephrav1.SliceMode_SLICE_MODE_MIG, Compute: 428, MemoryMib: 19073, MigProfile: 4, MigStart: 4}}
	text, err := feed.SlicesAnnotation("pod-p", "n1", chosen)
	if err != nil || !strings.Contains(text, `"mode":"mig","compute":428,"memoryMiB":19073,"mig":{"profile":"3g.20gb","start":4}`) {
		t.Fatalf("wrote %s, %v", text, err)
	}
	feed.setPod(somePod("p", "g", wants("nvidia.com/mig-3g.20gb", "1"), on("n1"), annotated(annotations.SlicesKey, text)))
	m := wholeModel(t, feed)
	if got := m.tasks["pod-p"].Slices; len(got) != 1 || !proto.Equal(got[0], chosen[0]) {
		t.Errorf("read back %v", got)
	}
}
