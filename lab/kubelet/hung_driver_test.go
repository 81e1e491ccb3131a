package kubelet_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tephra.sh/lab/kubelet"
)

// A call of the driver that never returns holds up its GPU alone: containers of the other GPU start, the command
// `tephra-node status` answers, /healthz says what hangs, and the process can be ended.
func TestFaultHungDriver(t *testing.T) {
	t.Setenv(kubelet.MachineVariable, `{"model": "A100-40GB", "count": 2, "mig": true}`)
	config := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(config, []byte("devices: [{ model: A100, modes: [mig] }]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, 2, "--config="+config, "--metrics-address=127.0.0.1:0", "--driver-hung-seconds=1")
	given := func(gpu int) map[string][]kubelet.Slice {
		return map[string][]kubelet.Slice{"main": {{UUID: kubelet.FakeUUID(gpu), Index: gpu, Mode: "mig", Compute: 142, MemoryMiB: 4768, MIG: kubelet.MIG{Profile: "1g.5gb"}}}}
	}
	if code, text, err := node.Plugin.Get("/healthz"); code != 200 || err != nil {
		t.Fatalf("/healthz: %d %s %v", code, text, err)
	}
	if err := node.Plugin.Control(`{"faults": [{"function": "nvmlDeviceCreateGpuInstanceWithPlacement", "call": 1, "hang": true}]}`); err != nil {
		t.Fatal(err)
	}
	stuck := kubelet.Annotated(kubelet.Pod("stuck", given(0)), kubelet.Annotation(given(0)))
	bind(t, node, stuck)
	started := make(chan error, 1)
	go func() {
		_, err := node.Kubelet.Create(t.Context(), stuck, "main")
		started <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		code, text, err := node.Plugin.Get("/healthz")
		if code == 503 && strings.Contains(text, "nvmlDeviceCreateGpuInstanceWithPlacement has run for more than 1 s") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/healthz: %d %s %v, expected 503 with the call", code, text, err)
		}
	}
	other := kubelet.Annotated(kubelet.Pod("other", given(1)), kubelet.Annotation(given(1)))
	bind(t, node, other)
	if seen := create(t, node, other, "main").UUIDs(); len(seen) != 1 || !strings.HasPrefix(seen[0], "MIG-") {
		t.Errorf("the pod of the other GPU sees %v, expected one MIG instance", seen)
	}
	began := time.Now()
	status, err := node.Plugin.Status()
	if err != nil || time.Since(began) > 5*time.Second || len(status.Problems) != 1 || status.Problems[0].Kind != "driver_not_answering" {
		t.Errorf("status after %v: %v, problems %+v", time.Since(began), err, status.Problems)
	}
	if text := scrape(t, node); !strings.Contains(text, "\ntephra_node_problems{kind=\"driver_not_answering\"} 1\n") {
		t.Error(text)
	}
	// The driver answers again.
	if err := node.Plugin.Control(`{}`); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Logf("the first start: %v", err)
	}
	create(t, node, stuck, "main")
	if code, text, err := node.Plugin.Get("/healthz"); code != 200 || err != nil {
		t.Errorf("/healthz once the driver answers: %d %s %v", code, text, err)
	}
	// A driver that hangs does not keep the process from ending.
	if err := node.Plugin.Control(`{"faults": [{"function": "nvmlGpuInstanceDestroy", "call": 1, "hang": true}]}`); err != nil {
		t.Fatal(err)
	}
	node.API.Delete(other.UID)
	node.Kubelet.Forget(other.UID)
	node.Kubelet.Gone(other.UID)
	time.Sleep(3 * time.Second)
	if err := node.Plugin.End(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := node.Plugin.Control(`{}`); err != nil {
		t.Fatal(err)
	}
	if err := node.Plugin.Start(); err != nil {
		t.Fatal(err)
	}
}
