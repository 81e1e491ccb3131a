package requests

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asking is a container with the limits, "resource=amount" by spaces, and equal requests.
func asking(name, limits string) corev1.Container {
	list := corev1.ResourceList{}
	for _, limit := range strings.Fields(limits) {
		resourceName, amount, _ := strings.Cut(limit, "=")
		list[corev1.ResourceName(resourceName)] = resource.MustParse(amount)
	}
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: list, Requests: list.DeepCopy()}}
}

func podOf(annotations map[string]string, containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: corev1.PodSpec{Containers: containers}}
}

var (
	nowhere    = &Cluster{}
	everywhere = &Cluster{Advertised: func(corev1.ResourceName) bool { return true }}
	// No node has a resource of MIG, MPS or time slices, but there are GPUs for them.
	cutting = &Cluster{Cuts: func(profile string) bool { return profile != "7g.80gb" }, Serves: func() bool { return true },
		TimeSlice: func() int32 { return 250 }}
)

// amounts are the ask without where it was said.
func amounts(a Ask) Ask {
	return Ask{Count: a.Count, Compute: a.Compute, MemoryMiB: a.MemoryMiB, MemoryPerMille: a.MemoryPerMille, Sharing: a.Sharing, Profile: a.Profile}
}

func refusedWith(wrong *Refusal, want string) bool {
	return wrong != nil && wrong.Field+": "+wrong.Value+", expected "+wrong.Expected == want
}

func TestEachLanguageIsReadByItsRules(t *testing.T) {
	const whole = 1000
	for _, test := range []struct {
		asks string
		want Ask
	}{
		{"cpu=1 memory=1Gi", Ask{}},
		{"nvidia.com/gpu=0", Ask{}},
		{"nvidia.com/gpu=4", Ask{Count: 4, Compute: whole}},

		{"nvidia.com/gpu=2 nvidia.com/gpumem=3000", Ask{Count: 2, MemoryMiB: 3000}},
		{"nvidia.com/gpu=2 nvidia.com/gpumem=3000 nvidia.com/gpucores=30", Ask{Count: 2, Compute: 300, MemoryMiB: 3000}},
		{"nvidia.com/gpu=2 nvidia.com/gpumem-percentage=50 nvidia.com/gpucores=30", Ask{Count: 2, Compute: 300, MemoryPerMille: 500}},
		{"nvidia.com/gpumem-percentage=1", Ask{Count: 1, MemoryPerMille: 10}},
		{"nvidia.com/gpumem=3000", Ask{Count: 1, MemoryMiB: 3000}},
		{"nvidia.com/gpucores=30", Ask{Count: 1, Compute: whole}}, // all the memory
		{"nvidia.com/gpu=1 nvidia.com/gpucores=100 nvidia.com/gpumem=3000", Ask{Count: 1, Compute: whole, MemoryMiB: 3000}},
		{"nvidia.com/gpu=1 nvidia.com/gpucores=100 nvidia.com/gpumem-percentage=30", Ask{Count: 1, Compute: whole}},
		{"nvidia.com/gpu=1 nvidia.com/gpumem-percentage=100", Ask{Count: 1, Compute: whole}},
		{"nvidia.com/gpu=1 nvidia.com/gpumem=3000 nvidia.com/priority=1", Ask{Count: 1, MemoryMiB: 3000}},
		{"nvidia.com/gpu=0 nvidia.com/gpumem=3000", Ask{}},
		{"nvidia.com/gpu=1 nvidia.com/gpumem=0 nvidia.com/gpucores=0", Ask{Count: 1, Compute: whole}},

		{"volcano.sh/vgpu-number=2", Ask{Count: 2, Compute: whole}},
		{"volcano.sh/vgpu-number=2 volcano.sh/vgpu-memory=4000", Ask{Count: 2, MemoryMiB: 4000}},
		{"volcano.sh/vgpu-memory=4000", Ask{Count: 1, MemoryMiB: 4000}},
		{"volcano.sh/vgpu-number=0 volcano.sh/vgpu-memory=4000", Ask{}},
		{"volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=4000 volcano.sh/vgpu-cores=30", Ask{Count: 1, Compute: 300, MemoryMiB: 4000}},
		{"volcano.sh/vgpu-cores=30", Ask{Count: 1, Compute: whole}},
		{"volcano.sh/vgpu-number=1 volcano.sh/vgpu-cores=100", Ask{Count: 1, Compute: whole}},
		{"volcano.sh/vgpu-number=1 volcano.sh/vgpu-cores=100 volcano.sh/vgpu-memory=4000", Ask{Count: 1, Compute: whole, MemoryMiB: 4000}},
		{"volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory-percentage=100", Ask{Count: 1, Compute: whole}},
		{"volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory-percentage=50", Ask{Count: 1, MemoryPerMille: 500}},

		{"nvidia.com/mig-1g.10gb=2", Ask{}},
		{"amd.com/gpu=2", Ask{}},
		{"huawei.com/Ascend910=2 huawei.com/Ascend910B4-1=1", Ask{}},
		{"iluvatar.ai/gpu=2", Ask{}},
		{"amd.com/gpu=2 nvidia.com/gpu=1", Ask{Count: 1, Compute: whole}},
		{"nvidia.com/mps-core=0 amd.com/gpumem=0", Ask{}},
	} {
		got, wrong := Default().Containers(podOf(nil, asking("main", test.asks)), nowhere)
		if wrong != nil || amounts(got[0]) != test.want {
			t.Errorf("%s: got %+v, %+v", test.asks, got, wrong)
		}
	}
}

func TestContradictionsAndWhatIsNotPlannedAreRefusedWithTheReason(t *testing.T) {
	for _, test := range []struct{ asks, want string }{
		{"nvidia.com/gpu=1 volcano.sh/vgpu-number=1", "limits[nvidia.com/gpu]: 1, expected none beside volcano.sh/vgpu-number"},
		{"nvidia.com/gpumem=5 volcano.sh/vgpu-cores=3", "limits[nvidia.com/gpumem]: 5, expected none beside volcano.sh/vgpu-cores"},
		{"nvidia.com/gpumem=5 nvidia.com/gpumem-percentage=3", "limits[nvidia.com/gpumem-percentage]: 3, expected none beside nvidia.com/gpumem"},
		{"volcano.sh/vgpu-memory=5 volcano.sh/vgpu-memory-percentage=3",
			"limits[volcano.sh/vgpu-memory-percentage]: 3, expected none beside volcano.sh/vgpu-memory"},
		{"nvidia.com/gpu=70000", "limits[nvidia.com/gpu]: 70000, expected 0 to 65535"},
		{"nvidia.com/gpu=-1", "limits[nvidia.com/gpu]: -1, expected 0 to 65535"},
		{"nvidia.com/gpu=0.5", "limits[nvidia.com/gpu]: 500m, expected a whole number"},
		{"nvidia.com/gpu=1 nvidia.com/gpumem=2Gi", "limits[nvidia.com/gpumem]: 2147483648, expected 0 to 1073741824 MiB"},
		{"nvidia.com/gpu=1 nvidia.com/gpumem=-1", "limits[nvidia.com/gpumem]: -1, expected 0 to 1073741824 MiB"},
		{"nvidia.com/gpu=1 nvidia.com/gpucores=101", "limits[nvidia.com/gpucores]: 101, expected 0 to 100 per cent"},
		{"nvidia.com/gpumem-percentage=101", "limits[nvidia.com/gpumem-percentage]: 101, expected 0 to 100 per cent"},
		{"volcano.sh/vgpu-number=1 volcano.sh/vgpu-cores=101", "limits[volcano.sh/vgpu-cores]: 101, expected 0 to 100 per cent"},
		{"volcano.sh/gpu-memory=1", "limits[volcano.sh/gpu-memory]: 1, expected none, ask for volcano.sh/vgpu-memory instead"},
		{"volcano.sh/gpu-number=1", "limits[volcano.sh/gpu-number]: 1, expected none, ask for volcano.sh/vgpu-memory instead"},
		{"volcano.sh/vgpu-colour=1", "limits[volcano.sh/vgpu-colour]: 1, expected none, no such resource is understood"},
		{"nvidia.com/mps-core=50 nvidia.com/mps-memory=8", "limits[nvidia.com/mps-core]: 50, expected none: no node has it and none has " +
			"a GPU for MPS, ask for nvidia.com/gpumem and nvidia.com/gpucores instead"},
		{"amd.com/gpu=1 amd.com/gpumem=5", "limits[amd.com/gpumem]: 5, expected none: devices of AMD are not cut, ask for whole ones, as amd.com/gpu"},
		{"huawei.com/Ascend910B4-memory=5", "limits[huawei.com/Ascend910B4-memory]: 5, " +
			"expected none: devices of Ascend are not cut, ask for whole ones, as huawei.com/Ascend910"},
		{"huawei.com/Ascend310P-core=5", "limits[huawei.com/Ascend310P-core]: 5, " +
			"expected none: devices of Ascend are not cut, ask for whole ones, as huawei.com/Ascend910"},
		{"iluvatar.ai/vcuda-core=5", "limits[iluvatar.ai/vcuda-core]: 5, " +
			"expected none: devices of Iluvatar are not cut, ask for whole ones, as iluvatar.ai/gpu"},
		{"iluvatar.ai/BI-V150.vMem=5", "limits[iluvatar.ai/BI-V150.vMem]: 5, " +
			"expected none: devices of Iluvatar are not cut, ask for whole ones, as iluvatar.ai/gpu"},
	} {
		_, wrong := Default().Containers(podOf(nil, asking("first", "cpu=1"), asking("main", test.asks)), nowhere)
		if !refusedWith(wrong, "spec.containers[1].resources."+test.want) {
			t.Errorf("%s:\n got %+v\nwant %s", test.asks, wrong, test.want)
		}
	}
	other := asking("main", "nvidia.com/gpu=2")
	other.Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
	if _, wrong := Default().Containers(podOf(nil, other), nowhere); !refusedWith(wrong,
		"spec.containers[0].resources.requests[nvidia.com/gpu]: 1, expected its limit, 2") {
		t.Errorf("a request other than the limit: got %+v", wrong)
	}
}

func TestEveryRefusedResourceOfTheTableIsRefused(t *testing.T) {
	for _, vendor := range Default().Vendors {
		for _, refused := range vendor.Refused {
			for _, name := range refused.Resources {
				name = strings.ReplaceAll(name, "*", "x")
				if _, wrong := Default().Containers(podOf(nil, asking("main", name+"=1")), nowhere); wrong == nil {
					t.Errorf("%s of %s: not refused", name, vendor.Name)
				}
			}
		}
		for _, name := range vendor.Devices {
			name = strings.ReplaceAll(name, "*", "x")
			if role, _ := Default().Role(corev1.ResourceName(name)); (role == Count) != vendor.Cut || role != Count && role != Foreign {
				t.Errorf("%s of %s: role %d", name, vendor.Name, role)
			}
		}
	}
}

func TestWhatRunsAlthoughRefusedHoldsAGPUWhereItAskedForOne(t *testing.T) {
	for _, test := range []struct {
		asks string
		want Ask
	}{
		{"volcano.sh/gpu-memory=5", Ask{Count: 1, Compute: 1000}},
		{"nvidia.com/gpu=70000", Ask{Count: 1, Compute: 1000}},
		{"amd.com/gpu=1 amd.com/gpumem=5", Ask{}},
		{"nvidia.com/gpu=2 amd.com/gpumem=5", Ask{Count: 2, Compute: 1000}},
	} {
		got, wrong := Default().Containers(podOf(nil, asking("main", test.asks)), nowhere)
		if wrong == nil || amounts(got[0]) != test.want {
			t.Errorf("%s: got %+v, %+v", test.asks, got, wrong)
		}
	}
}

func TestMPSIsCountedWhereANodeHasItByThatName(t *testing.T) {
	pod := podOf(nil, asking("main", "nvidia.com/mps-core=50 nvidia.com/mps-memory=8"))
	if got, wrong := Default().Containers(pod, everywhere); wrong != nil || amounts(got[0]) != (Ask{}) {
		t.Errorf("got %+v, %+v", got, wrong)
	}
	if !Default().MayBeAdvertised("nvidia.com/mps-core") || Default().MayBeAdvertised("amd.com/gpumem") {
		t.Error("other resources may be advertised than those of MPS")
	}
}

func TestWhatIsNotAdvertisedIsCutOutOfDevicesThatMayBe(t *testing.T) {
	for _, test := range []struct {
		asks string
		want Ask
	}{
		{"nvidia.com/mig-1g.10gb=1", Ask{Count: 1, Sharing: ByMIG, Profile: "1g.10gb"}},
		{"nvidia.com/mig-1g.10gb.me=2", Ask{Count: 2, Sharing: ByMIG, Profile: "1g.10gb+me"}},
		{"nvidia.com/mig-7g.80gb=1", Ask{}}, // no GPU gives it: counted by its name
		{"nvidia.com/mig-9g.90gb=1", Ask{}}, // there is none
		{"nvidia.com/mig-1g.10gb=0", Ask{}},
		{"nvidia.com/gpu.shared=2", Ask{Count: 2, Compute: 250, Sharing: ByTimeSlice}},
		{"nvidia.com/mps-core=50", Ask{Count: 1, Compute: 500, Sharing: ByMPS}},
		{"nvidia.com/mps-memory=8", Ask{Count: 1, MemoryMiB: 8192, Sharing: ByMPS}},
		{"nvidia.com/mps-core=100 nvidia.com/mps-memory=8", Ask{Count: 1, Compute: 1000, MemoryMiB: 8192, Sharing: ByMPS}},
	} {
		got, wrong := Default().Containers(podOf(nil, asking("main", test.asks)), cutting)
		if wrong != nil || amounts(got[0]) != test.want {
			t.Errorf("%s: got %+v, %+v", test.asks, got, wrong)
		}
		if got, wrong = Default().Containers(podOf(nil, asking("main", test.asks)), everywhere); wrong != nil || amounts(got[0]) != (Ask{}) {
			t.Errorf("%s where nodes have it: got %+v, %+v", test.asks, got, wrong)
		}
	}
	for asks, want := range map[string]string{
		"nvidia.com/mig-1g.10gb=1 nvidia.com/mig-2g.20gb=1": "limits[nvidia.com/mig-2g.20gb]: 1, expected none beside nvidia.com/mig-1g.10gb",
		"nvidia.com/mig-1g.10gb=1 nvidia.com/mps-core=10":   "limits[nvidia.com/mps-core]: 10, expected none beside nvidia.com/mig-1g.10gb",
		"nvidia.com/mig-1g.10gb=1 nvidia.com/gpu=1":         "limits[nvidia.com/gpu]: 1, expected none beside nvidia.com/mig-1g.10gb",
		"nvidia.com/gpu.shared=1 nvidia.com/mps-core=10":    "limits[nvidia.com/mps-core]: 10, expected none beside nvidia.com/gpu.shared",
		"nvidia.com/gpu.shared=1 nvidia.com/gpumem=4000":    "limits[nvidia.com/gpumem]: 4000, expected none beside nvidia.com/gpu.shared",
		"nvidia.com/gpu.shared=-1":                          "limits[nvidia.com/gpu.shared]: -1, expected 0 to 65535",
		"nvidia.com/mps-core=101":                           "limits[nvidia.com/mps-core]: 101, expected 0 to 100",
		"nvidia.com/mps-memory=-1":                          "limits[nvidia.com/mps-memory]: -1, expected 0 to 1048576",
	} {
		_, wrong := Default().Containers(podOf(nil, asking("main", asks)), cutting)
		if !refusedWith(wrong, "spec.containers[0].resources."+want) {
			t.Errorf("%s:\n got %+v\nwant %s", asks, wrong, want)
		}
	}
}

func TestKAIsAnnotationsGiveOneContainerItsPart(t *testing.T) {
	containers := []corev1.Container{asking("main", "cpu=1"), asking("side", "cpu=1")}
	for _, test := range []struct {
		says string // annotations, "key=value" by spaces
		at   int
		want Ask
	}{
		{"gpu-fraction=0.5", 1, Ask{Count: 1, Compute: 500, MemoryPerMille: 500}},
		{"gpu-fraction=0.289", 1, Ask{Count: 1, Compute: 289, MemoryPerMille: 289}},
		{"gpu-fraction=0.9999999", 1, Ask{Count: 1, Compute: 999, MemoryPerMille: 999}},
		{"gpu-fraction=0.25 gpu-fraction-num-devices=4", 1, Ask{Count: 4, Compute: 250, MemoryPerMille: 250}},
		{"gpu-memory=2000", 1, Ask{Count: 1, MemoryMiB: 2000}},
		{"gpu-memory=2000 gpu-fraction-container-name=side", 2, Ask{Count: 1, MemoryMiB: 2000}},
		{"gpu-memory=2000 gpu-fraction-container-name=prepare", 0, Ask{Count: 1, MemoryMiB: 2000}},
		{"gpu-fraction-container-name=side", 1, Ask{}},
	} {
		pod := podOf(annotationsOf(test.says), containers...)
		pod.Spec.InitContainers = []corev1.Container{asking("prepare", "cpu=1")}
		asks, wrong := Default().Containers(pod, nowhere)
		if wrong == nil {
			wrong = Default().Annotated(pod, asks)
		}
		for i, ask := range asks {
			if want := (map[bool]Ask{true: test.want})[i == test.at]; wrong != nil || amounts(ask) != want {
				t.Errorf("%s: container %d: got %+v, %+v", test.says, i, ask, wrong)
			}
		}
	}
}

func annotationsOf(says string) map[string]string {
	out := map[string]string{}
	for _, pair := range strings.Fields(says) {
		key, value, _ := strings.Cut(pair, "=")
		out[key] = value
	}
	return out
}

func TestAnnotationsThatForbidWhatIsNotPlannedAreRefused(t *testing.T) {
	const fractions = ", expected a number from 0.001 to below 1; whole devices are asked for as nvidia.com/gpu"
	for _, test := range []struct {
		says, asks string
		want       string // empty: nothing is refused
	}{
		{"gpu-fraction=0", "", `gpu-fraction]: "0"` + fractions},
		{"gpu-fraction=1", "", `gpu-fraction]: "1"` + fractions},
		{"gpu-fraction=1.5", "", `gpu-fraction]: "1.5"` + fractions},
		{"gpu-fraction=-0.5", "", `gpu-fraction]: "-0.5"` + fractions},
		{"gpu-fraction=0.0001", "", `gpu-fraction]: "0.0001"` + fractions},
		{"gpu-fraction=half", "", `gpu-fraction]: "half"` + fractions},
		{"gpu-fraction=NaN", "", `gpu-fraction]: "NaN"` + fractions},
		{"gpu-fraction=", "", `gpu-fraction]: ""` + fractions},
		{"gpu-fraction=0.5 gpu-memory=5", "", `gpu-memory]: "5", expected none beside gpu-fraction`},
		{"gpu-fraction=0.5", "nvidia.com/gpu=1", `gpu-fraction]: "0.5", expected none beside spec.containers[0].resources.limits[nvidia.com/gpu]`},
		{"gpu-memory=5", "volcano.sh/vgpu-memory=5", `gpu-memory]: "5", expected none beside spec.containers[0].resources.limits[volcano.sh/vgpu-memory]`},
		{"gpu-memory=0", "", `gpu-memory]: "0", expected 1 to 1073741824, in MiB`},
		{"gpu-memory=2Gi", "", `gpu-memory]: "2Gi", expected 1 to 1073741824, in MiB`},
		{"gpu-fraction=0.5 gpu-fraction-num-devices=0", "", `gpu-fraction-num-devices]: "0", expected 1 to 65535`},
		{"gpu-fraction-num-devices=2", "", `gpu-fraction-num-devices]: "2", expected none without gpu-fraction or gpu-memory`},
		{"gpu-fraction=0.5 gpu-fraction-container-name=x", "", `gpu-fraction-container-name]: "x", expected a container of the pod`},
		{"gpu-fraction=0.5 gpu-fraction.limit=0.8", "", `gpu-fraction.limit]: "0.8", expected none: of KAI's words gpu-fraction, ` +
			`gpu-memory, gpu-fraction-num-devices and gpu-fraction-container-name are understood`},

		{"nvidia.com/use-gputype=A100", "nvidia.com/gpu=1", ""},
		{"nvidia.com/nouse-gputype=A100", "nvidia.com/gpu=1", ""},
		{"hami.io/node-scheduler-policy=spread", "nvidia.com/gpu=1", ""},
		{"hami.io/gpu-scheduler-policy=binpack,numa", "nvidia.com/gpu=1", ""},
		{"hami.io/gpu-scheduler-policy=mutex", "nvidia.com/gpu=1", `hami.io/gpu-scheduler-policy]: "mutex", expected binpack, spread, ` +
			`topology-aware or numa: devices for one pod alone are asked for whole`},
		{"nvidia.com/vgpu-mode=hami-core", "nvidia.com/gpu=1", ""},
		{"nvidia.com/vgpu-mode=mig", "nvidia.com/gpu=1", `nvidia.com/vgpu-mode]: "mig", expected hami-core: other modes of sharing are asked for by resource, as nvidia.com/mig-1g.10gb or nvidia.com/mps-core`},
		{"volcano.sh/vgpu-mode=mps", "nvidia.com/gpu=1", `volcano.sh/vgpu-mode]: "mps", expected hami-core: other modes of sharing are asked for by resource, as nvidia.com/mig-1g.10gb or nvidia.com/mps-core`},
		{"nvidia.com/numa-bind=false", "nvidia.com/gpu=1", ""},
		{"nvidia.com/numa-bind=true", "nvidia.com/gpu=1", `nvidia.com/numa-bind]: "true", expected false: which NUMA node a device is at is not known`},
		{"volcano.sh/vgpu-podgroup-policy=spread", "", `volcano.sh/vgpu-podgroup-policy]: "spread", expected none: pods of a group are not kept off each other's devices`},
		{"nvidia.com/use-gpuuuid=GPU-a", "nvidia.com/gpu=1", ""},
		{"volcano.sh/vgpu-nouse-gpuuuid=a,b", "nvidia.com/gpu=1", ""},
		{"nvidia.com/use-gpuindexes=0", "", `nvidia.com/use-gpuindexes]: "0", expected none: these devices cannot be chosen, ` +
			`name GPUs with nvidia.com/use-gpuuuid or nodes with a selector`},
		{"huawei.com/nouse-Ascend910B-uuid=a", "", `huawei.com/nouse-Ascend910B-uuid]: "a", expected none: these devices cannot be chosen, ` +
			`name GPUs with nvidia.com/use-gpuuuid or nodes with a selector`},
		{"amd.com/use-gputype=MI300", "", `amd.com/use-gputype]: "MI300", expected none: devices of this vendor are counted, choose nodes with a selector`},
		{"example.com/use-prototype=x example.com/numa-bind=true", "nvidia.com/gpu=1", ""}, // not a vendor's
		{"cambricon.com/use-mluuuid=x", "", `cambricon.com/use-mluuuid]: "x", expected none: these devices cannot be chosen, ` +
			`name GPUs with nvidia.com/use-gpuuuid or nodes with a selector`},
		{"example.com/colour=red scheduling.k8s.io/group-name=g", "nvidia.com/gpu=1", ""},
	} {
		pod := podOf(annotationsOf(test.says), asking("main", test.asks))
		asks, wrong := Default().Containers(pod, nowhere)
		if wrong != nil {
			t.Fatalf("%s: %+v", test.asks, wrong)
		}
		wrong = Default().Annotated(pod, asks)
		if test.want == "" && wrong != nil || test.want != "" && !refusedWith(wrong, "metadata.annotations["+test.want) {
			t.Errorf("%s, %s:\n got %+v\nwant %s", test.says, test.asks, wrong, test.want)
		}
	}
}
