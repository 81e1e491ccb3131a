package kubelet_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"tephra.sh/lab/kubelet"
)

func TestMain(m *testing.M) {
	klog.InitFlags(nil)
	_ = flag.Set("logtostderr", "false") // the device manager has much to say of restarts
	_ = flag.Set("alsologtostderr", "false")
	_ = flag.Set("stderrthreshold", "FATAL")
	_ = flag.Set("v", "0")
	klog.SetOutput(nothing{})
	flag.Parse()
	os.Exit(m.Run())
}

type nothing struct{}

func (nothing) Write(text []byte) (int, error) { return len(text), nil }

func startNode(t *testing.T, gpus int, flags ...string) *kubelet.Node {
	t.Helper()
	dir, err := os.MkdirTemp("", "tn-") // t.TempDir is too long a path for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(dir + "/plugin.log")
			lines := strings.Split(string(log), "\n")
			t.Log("the end of plugin.log:\n" + strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
		_ = os.RemoveAll(dir)
	})
	node, err := kubelet.StartNode(dir, gpus, flags...)
	if err != nil {
		log, _ := os.ReadFile(dir + "/plugin.log")
		t.Fatalf("%v\n%s", err, log)
	}
	t.Cleanup(node.Stop)
	return node
}

// bind puts the pod on the node, as the scheduler does it, and admits it.
func bind(t *testing.T, node *kubelet.Node, pod *core.Pod) {
	t.Helper()
	node.API.Put(pod)
	if err := node.Kubelet.Admit(pod); err != nil {
		t.Fatalf("pod %s: %v", pod.Name, err)
	}
}

// create tries as the kubelet does until the container is there.
func create(t *testing.T, node *kubelet.Node, pod *core.Pod, container string) *kubelet.Sees {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		sees, err := node.Kubelet.Create(t.Context(), pod, container)
		if err == nil {
			return sees
		}
		if time.Now().After(deadline) {
			t.Fatalf("pod %s, container %s: %v", pod.Name, container, err)
		}
	}
}

func expect(t *testing.T, sees *kubelet.Sees, given []kubelet.Slice) {
	t.Helper()
	if differs := sees.Differs(given); differs != "" {
		t.Error(differs)
	}
}

func TestEachContainerSeesItsSlicesAndNoMore(t *testing.T) {
	node := startNode(t, 4, "--mount")
	given := map[string][]kubelet.Slice{
		"init":    {kubelet.Fraction(0, 100, 1000)},
		"sidecar": {kubelet.Fraction(1, 200, 2000)},
		"main":    {kubelet.Whole(2), kubelet.Whole(3)},
		"logger":  {kubelet.Fraction(0, 300, 3000)},
	}
	pod := kubelet.Pod("all", given)
	pod = kubelet.Annotated(pod, kubelet.Annotation(given))
	bind(t, node, pod)
	for _, container := range []string{"init", "sidecar", "main", "logger", "main"} {
		sees := create(t, node, pod, container)
		expect(t, sees, given[container])
		text, err := os.ReadFile(sees.Mounts["/run/tephra"] + "/slices.json")
		if err != nil {
			t.Error(err)
		}
		for _, slice := range given[container] {
			if !strings.Contains(string(text), slice.UUID) {
				t.Errorf("%s: mounted %s, expected %s in it", container, text, slice.UUID)
			}
		}
		if count := strings.Count(string(text), `"uuid"`); count != len(given[container]) {
			t.Errorf("%s: mounted %s, expected %d slices", container, text, len(given[container]))
		}
	}
	status, err := node.Plugin.Status()
	if err != nil || !status.Registered || len(status.Holdings) != 4 {
		t.Errorf("%+v, %v, expected 4 holdings", status, err)
	}
}

// With a runtime that ignores NVIDIA_VISIBLE_DEVICES in containers without privileges, GPUs are named by mounts.
func TestVisibleDevicesAreMounts(t *testing.T) {
	node := startNode(t, 2, "--visible-devices=mounts")
	for gpu := range 2 {
		given := map[string][]kubelet.Slice{"main": {kubelet.Whole(gpu)}}
		pod := kubelet.Annotated(kubelet.Pod(fmt.Sprintf("pod-%d", gpu), given), kubelet.Annotation(given))
		bind(t, node, pod)
		seen := create(t, node, pod, "main")
		expect(t, seen, given["main"])
		for other := range 2 {
			host := seen.Mounts["/var/run/nvidia-container-devices/"+kubelet.UUID(other)]
			if want := map[bool]string{true: "/dev/null"}[other == gpu]; host != want {
				t.Errorf("pod of GPU %d: the mount of GPU %d is %q, expected %q", gpu, other, host, want)
			}
		}
	}
}
