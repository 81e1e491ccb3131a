package facts

import (
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
)

// crowd is a cluster of nodes with 8 GPUs each, all of them used by pods of gangs of 16.
func crowd(b *testing.B, nodes int) (*Feed, []*corev1.Pod) {
	feed := idleFeed(&testing.T{}, Options{Admit: true})
	for n := range nodes {
		name := fmt.Sprintf("node-%05d", n)
		feed.setNode(someNode(name, func(node *corev1.Node) {
			devices := make([]annotations.Device, 8)
			for d := range devices {
				devices[d] = annotations.Device{UUID: fmt.Sprintf("GPU-%s-%d", name, d), Model: "NVIDIA H100 80GB HBM3",
					MemoryMiB: 81559, Healthy: true}
			}
			text, err := annotations.FormatInventory(devices)
			if err != nil {
				b.Fatal(err)
			}
			node.Annotations = map[string]string{annotations.InventoryKey: text}
		}))
	}
	var pods []*corev1.Pod
	for i := range nodes * 8 {
		group := "g" + strconv.Itoa(i/16)
		if i%16 == 0 {
			feed.setGroup(someGroup(group, 16))
		}
		pod := somePod("p"+strconv.Itoa(i), group, task("worker", strconv.Itoa(i%16)))
		pod.Labels["volcano.sh/job-name"] = group
		pods = append(pods, pod)
		feed.setPod(pod)
	}
	return feed, pods
}

func boundTo(pod *corev1.Pod, i int) *corev1.Pod {
	bound := pod.DeepCopy()
	on(fmt.Sprintf("node-%05d", i/8))(bound)
	text, _ := annotations.FormatSlices([]annotations.ContainerSlices{{Name: "main", Slices: []annotations.Slice{{
		UUID: fmt.Sprintf("GPU-%s-%d", bound.Spec.NodeName, i%8), Index: i % 8, Mode: annotations.Whole,
		Compute: 1000, MemoryMiB: 81559}}}})
	bound.Annotations[annotations.SlicesKey] = text
	return bound
}

// A sync of all of it: 8 pods a node.
func BenchmarkSync(b *testing.B) {
	feed, pods := crowd(b, 5000)
	for i, pod := range pods {
		feed.setPod(boundTo(pod, i))
	}
	feed.Sync()
	for b.Loop() {
		feed.Sync()
	}
	b.ReportMetric(float64(len(pods)), "pods")
}

// A drain after every pod was bound, as after a large plan; and what the informers' handlers cost.
func BenchmarkDrain(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		feed, pods := crowd(b, 1000)
		feed.Sync()
		for i, pod := range pods {
			feed.setPod(boundTo(pod, i))
		}
		b.StartTimer()
		if events := feed.Drain(); len(events) < len(pods) {
			b.Fatalf("%d events of %d pods", len(events), len(pods))
		}
	}
}

// One more look at a pod of which nothing has changed that matters.
func BenchmarkNoise(b *testing.B) {
	feed, pods := crowd(b, 1000)
	feed.Sync()
	for i := 0; b.Loop(); i++ {
		feed.setPod(pods[i%len(pods)])
		if i%1000 == 0 && len(feed.Drain()) > 0 {
			b.Fatal("reported noise")
		}
	}
}
