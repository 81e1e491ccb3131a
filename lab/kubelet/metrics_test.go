package kubelet_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"tephra.sh/lab/kubelet"
)

func scrape(t *testing.T, node *kubelet.Node) string {
	t.Helper()
	code, text, err := node.Plugin.Get("/metrics")
	if err != nil || code != 200 {
		t.Fatalf("/metrics: %d, %v", code, err)
	}
	return text
}

// until waits for a scrape that has just these slices of pods, and so many orphans on GPU 0.
func until(t *testing.T, node *kubelet.Node, slices []string, orphans string) {
	t.Helper()
	held := regexp.MustCompile(`(?m)^tephra_node_slice_memory_bytes\{gpu="(\d)",.*pod="(\S+)",container="(\S+)",mode="(\S+)"\} \d+$`)
	var text string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		text = scrape(t, node)
		var found []string
		for _, match := range held.FindAllStringSubmatch(text, -1) {
			found = append(found, strings.Join(match[1:], " "))
		}
		same := len(found) == len(slices)
		for _, slice := range slices {
			same = same && strings.Contains(strings.Join(found, "\n"), slice)
		}
		if same && strings.Contains(text, `tephra_node_orphan_slices{gpu="0",uuid="`+kubelet.UUID(0)+`"} `+orphans+"\n") {
			return
		}
	}
	t.Fatalf("expected slices %v and %s orphans:\n%s", slices, orphans, text)
}

func TestSeriesOfAContainerGoWhenItDoes(t *testing.T) {
	node := startNode(t, 2, "--metrics-address=127.0.0.1:0")
	if code, text, err := node.Plugin.Get("/healthz"); code != 200 || err != nil {
		t.Errorf("/healthz: %d %s %v", code, text, err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		code, text, err := node.Plugin.Get("/readyz")
		if code == 200 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz: %d %s %v", code, text, err)
		}
	}
	until(t, node, nil, "0")
	pod := kubelet.Annotated(kubelet.Pod("one", both), kubelet.Annotation(both))
	bind(t, node, pod)
	create(t, node, pod, "main")
	slices := []string{"0 one main whole", "1 one main fraction"}
	until(t, node, slices, "0")
	// Deleted by force while its container still runs.
	node.API.Delete(pod.UID)
	node.Kubelet.Forget(pod.UID)
	until(t, node, slices, "1")
	node.Kubelet.Gone(pod.UID)
	until(t, node, nil, "0")
	if text := scrape(t, node); !strings.Contains(text, "\ntephra_node_pre_start_duration_seconds_count 1\n") {
		t.Error(text)
	}
}
