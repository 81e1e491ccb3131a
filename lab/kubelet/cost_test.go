package kubelet_test

import (
	"strconv"
	"testing"
	"time"

	"tephra.sh/lab/kubelet"
)

// TestCost prints what claims/node-cost reads: 8 GPUs with 100 slots each, and TEPHRA_NODE_PODS pods
// (40) one after the other, whose annotations are there when they start. Metrics are served, and read
// twice a minute, as Prometheus does.
func TestCost(t *testing.T) {
	for name, flags := range map[string][]string{"cdi": nil, "mount": {"--cdi=no"}} {
		t.Run(name, func(t *testing.T) {
			node := startNode(t, 8, append(flags, "--metrics-address=127.0.0.1:0")...)
			scrape(t, node)
			for i := range environment("TEPHRA_NODE_PODS", 40) {
				given := map[string][]kubelet.Slice{"main": {kubelet.Fraction(i%8, 1, 10)}}
				pod := kubelet.Annotated(kubelet.Pod("pod-"+strconv.Itoa(i), given), kubelet.Annotation(given))
				bind(t, node, pod)
				time.Sleep(20 * time.Millisecond) // what a kubelet takes at least to come to the first container
				if _, err := node.Kubelet.Create(t.Context(), pod, "main"); err != nil {
					t.Fatal(err)
				}
			}
			status, err := node.Plugin.Status()
			if err != nil {
				t.Fatal(err)
			}
			idle := time.Duration(environment("TEPHRA_NODE_IDLE_SECONDS", 5)) * time.Second
			time.Sleep(2 * time.Second)
			before, _ := node.Plugin.CPU()
			for left := idle; left > 0; left -= 30 * time.Second {
				time.Sleep(min(left, 30*time.Second))
				scrape(t, node)
			}
			after, err := node.Plugin.CPU()
			if err != nil {
				t.Fatal(err)
			}
			resident, err := node.Plugin.ResidentKiB()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("cost %s: allocate_p50_us=%d allocate_p99_us=%d pre_start_p50_us=%d pre_start_p99_us=%d resident_kib=%d idle_ppm=%d",
				name, status.Allocate.P50Us, status.Allocate.P99Us, status.PreStart.P50Us, status.PreStart.P99Us,
				resident, (after-before).Microseconds()*1_000_000/idle.Microseconds())
		})
	}
}
