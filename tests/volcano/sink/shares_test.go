package sink

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tephra.sh/volcano/action"
	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
)

// HAMi's gpumem and gpucores are resources of no node, and Volcano's cache takes no pod for a node that
// does not have what the pod asks for. A node of the node plugin has no nvidia.com/gpu either; a node that had another device
// plugin before has 0.
func TestSharesAreBoundAlthoughNoNodeHasTheirResources(t *testing.T) {
	for name, advertised := range map[string]corev1.ResourceList{"ten": {"nvidia.com/gpu": resource.MustParse("10")},
		"zero": {"nvidia.com/gpu": resource.MustParse("0")}, "none": {}} {
		t.Run(name, func(t *testing.T) { bindShares(t, advertised) })
	}
}

func bindShares(t *testing.T, advertised corev1.ResourceList) {
	if os.Getenv(EngineVariable) == "" {
		t.Setenv(EngineVariable, "../"+defaultEngine)
	}
	if _, err := EnginePath(); err != nil {
		t.Skip(err)
	}
	cluster, err := New(&facts.Options{Admit: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Stop()
	engine, err := StartEngine(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Stop()
	tephra, err := action.New(cluster.Feed, action.Options{EngineSocket: engine.Socket, Client: "test", Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer tephra.Close()
	profile, err := ReadProfile("actions: \"allocate\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n  - name: predicates\n")
	if err != nil {
		t.Fatal(err)
	}
	device := annotations.Device{Model: "NVIDIA H100", MemoryMiB: 80000, Healthy: true}
	node := someNode(t, "n1", advertised, device)
	if err := cluster.Add(Queue("root"), Queue("research"), node); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	bound := func() (pods []string) {
		for _, binding := range cluster.Bindings() {
			slices, err := annotations.ParseSlices(binding.Annotations[annotations.SlicesKey])
			if err != nil {
				t.Fatal(err)
			}
			pods = append(pods, fmt.Sprintf("%s %d MiB", binding.Pod.Name, slices[0].Slices[0].MemoryMiB))
		}
		slices.Sort(pods)
		return pods
	}
	for i, want := range [][]string{{"g0-0 30000 MiB"}, {"g1-0 30000 MiB"}, nil} { // a third has no room
		group, pods := Gang(fmt.Sprintf("g%d", i), "research", 1, corev1.ResourceList{
			"nvidia.com/gpu": resource.MustParse("1"), "nvidia.com/gpumem": resource.MustParse("30000"),
			"nvidia.com/gpucores": resource.MustParse("10"), "nvidia.com/priority": resource.MustParse("1")})
		if err := cluster.Add(group, pods[0]); err != nil {
			t.Fatal(err)
		}
		var got []string
		for deadline := time.Now().Add(5 * time.Second); got == nil && time.Now().Before(deadline); {
			cluster.Session(profile, tephra)
			time.Sleep(20 * time.Millisecond) // bindings are sent by goroutines of their own
			if got = bound(); want == nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("share %d: bound %q, expected %q", i, got, want)
		}
		if err := cluster.Settle(); err != nil {
			t.Fatal(err)
		}
	}
}
