package facts

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestNodesAreReportedWithWhatTheyHaveAndWhatMayUseThem(t *testing.T) {
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
		{"resources that no pod asked for", func(n *corev1.Node) {
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

func TestPodsAreReportedWithTheirDemands(t *testing.T) {
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
		{"a model that no node has", func(p *corev1.Pod) { p.Annotations[useModels] = "B200" },
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
	if masked(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }) == "" {
		t.Error("a resource claim: no mask")
	}
	if masked(func(p *corev1.Pod) {
		p.Spec.Affinity = apartFrom("web")
		terms := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		terms[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	}) == "" {
		t.Error("away from pods of namespaces by their labels: no mask")
	}
}
