package kubelet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"tephra.sh/lab/kubelet"
)

func instance(profile string, start int) map[string][]kubelet.Slice {
	return map[string][]kubelet.Slice{"main": {{UUID: kubelet.FakeUUID(0), Mode: "mig", Compute: 142, MemoryMiB: 4768, MIG: kubelet.MIG{Profile: profile, Start: start}}}}
}

// An A100 of 40 GB in MIG mode: seven small instances for seven pods, each with its own; over a kill of
// the plugin they stay what they are; and what they leave is partitioned again, three times two slices.
func TestMIGInstancesReachTheirContainers(t *testing.T) {
	t.Setenv(kubelet.MachineVariable, `{"model": "A100-40GB", "count": 1, "mig": true}`)
	config := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(config, []byte("devices: [{ model: A100, modes: [mig] }]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, 1, "--config="+config)
	sees := map[string]string{} // the instance by pod
	start := func(profile string, first int) *core.Pod {
		t.Helper()
		given := instance(profile, first)
		pod := kubelet.Pod(fmt.Sprintf("p-%s-%d", strings.ReplaceAll(profile, ".", "-"), first), given)
		pod = kubelet.Annotated(pod, kubelet.Annotation(given))
		bind(t, node, pod)
		return pod
	}
	look := func(pod *core.Pod) string {
		t.Helper()
		seen := create(t, node, pod, "main").UUIDs()
		if len(seen) != 1 || !strings.HasPrefix(seen[0], "MIG-") {
			t.Fatalf("pod %s sees %v, expected one MIG instance", pod.Name, seen)
		}
		return seen[0]
	}
	var pods []*core.Pod
	for first := range 7 {
		pod := start("1g.5gb", first)
		pods = append(pods, pod)
		uuid := look(pod)
		for other, taken := range sees {
			if taken == uuid {
				t.Errorf("pods %s and %s see the same instance", pod.Name, other)
			}
		}
		sees[pod.Name] = uuid
	}
	if err := node.RestartPlugin(syscall.SIGKILL, 0); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		if again := look(pod); again != sees[pod.Name] {
			t.Errorf("pod %s sees %s after a restart of the plugin, before %s", pod.Name, again, sees[pod.Name])
		}
	}

	// An instance that overlaps with instances in use waits until they are gone.
	two := start("2g.10gb", 0)
	waits := make(chan error, 1)
	go func() {
		_, err := node.Kubelet.Create(t.Context(), two, "main")
		waits <- err
	}()
	select {
	case err := <-waits:
		t.Errorf("an instance over instances in use: %v", err)
	case <-time.After(time.Second):
	}
	for _, pod := range pods {
		node.API.Delete(pod.UID)
		node.Kubelet.Forget(pod.UID)
		node.Kubelet.Gone(pod.UID)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
	pods = []*core.Pod{two, start("2g.10gb", 2), start("2g.10gb", 4)}
	for _, pod := range pods {
		look(pod)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		status, err := node.Plugin.Status()
		if err == nil && len(status.Holdings) == len(pods) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("holdings of ended pods are left: %+v, %v", status.Holdings, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
