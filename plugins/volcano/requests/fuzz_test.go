package requests

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// FuzzContainers reads the requests of pods that no API server checked: there is one request for each container, and each is in
// range, also if it is refused.
func FuzzContainers(f *testing.F) {
	for _, asks := range []string{"nvidia.com/gpu=2 nvidia.com/gpumem=3000", "volcano.sh/vgpu-number=2 volcano.sh/vgpu-cores=30",
		"nvidia.com/mig-1g.10gb=2", "nvidia.com/gpu.shared=2", "amd.com/gpu=1 amd.com/gpumem=5", "nvidia.com/gpu=70000", "nvidia.com/mps-core=50"} {
		pod := podOf(map[string]string{"gpu-fraction": "0.5", "gpu-memory": "100"}, asking("first", "cpu=1"), asking("main", asks))
		text, err := json.Marshal(pod)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var pod corev1.Pod
		if json.Unmarshal([]byte(text), &pod) != nil {
			return
		}
		for _, cluster := range []*Cluster{nowhere, everywhere, cutting} {
			asks, _ := Default().Containers(&pod, cluster)
			if len(asks) != len(pod.Spec.InitContainers)+len(pod.Spec.Containers) {
				t.Fatalf("%d requests of %s", len(asks), text)
			}
			Default().Annotated(&pod, asks)
			for _, ask := range asks {
				if ask.Count < 0 || ask.Count > 65535 || ask.Compute < 0 || ask.Compute > 1000 || ask.MemoryMiB < 0 ||
					ask.MemoryMiB > 1<<30 || ask.MemoryPerMille < 0 || ask.MemoryPerMille > 1000 {
					t.Fatalf("%+v of %s", ask, text)
				}
			}
			Default().CheckSlots(&pod, asks)
		}
		if slots := Default().Slots(&pod); len(slots) != len(pod.Spec.InitContainers)+len(pod.Spec.Containers) {
			t.Fatalf("%d slots of %s", len(slots), text)
		}
	})
}

// FuzzTable reads tables of requests: it refuses them, or each name in them has a meaning.
func FuzzTable(f *testing.F) {
	f.Add([]byte("vendors: [{name: A, devices: [a.com/gpu]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := Parse(text)
		if err != nil {
			return
		}
		pod := podOf(nil, asking("main", "nvidia.com/gpu=1 nvidia.com/gpumem=5"))
		for _, name := range append(table.Counts(), table.Parts()...) {
			table.Role(corev1.ResourceName(name))
		}
		asks, _ := table.Containers(pod, cutting)
		table.Annotated(pod, asks)
		table.CheckSlots(pod, asks)
	})
}
