package facts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

func signingFeed(t *testing.T) *Feed {
	t.Helper()
	keys, err := annotations.OpenKeys("../../../tests/vectors/slices-signature/keys")
	if err != nil {
		t.Fatal(err)
	}
	feed := idleFeed(t, Options{Admit: true, Keys: keys})
	eight := make([]annotations.Device, 8)
	for i := range eight {
		eight[i] = annotations.Device{UUID: fmt.Sprintf("GPU-%d", i), Model: "H100", MemoryMiB: 81559}
	}
	feed.setNode(someNode("n1", gpus(t, eight...)))
	feed.setNode(someNode("n2", gpus(t, eight...)))
	feed.setGroup(someGroup("g", 1, inQueue("research")))
	return feed
}

// given says of the pod what the scheduler would say; then `change` forges it.
func given(t *testing.T, feed *Feed, device uint32, queue string, change ...func(*corev1.Pod)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		t.Helper()
		now := metav1.NewTime(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		pod.CreationTimestamp = now
		pod.ResourceVersion = fmt.Sprint(time.Now().UnixNano())
		slices := fmt.Sprintf(`{"version":1,"containers":[{"name":"main","slices":[{"uuid":"GPU-%d","index":%d,"mode":"whole","compute":1000,"memoryMiB":0}]}]}`, device, device)
		text, err := feed.Signature(annotations.Given{PodUID: string(pod.UID), Node: "n1", Queue: queue, Slices: slices})
		if err != nil {
			t.Fatal(err)
		}
		pod.Annotations[annotations.SlicesKey], pod.Annotations[annotations.QueueKey] = slices, queue
		pod.Annotations[annotations.SignatureKey] = text
		for _, each := range change {
			each(pod)
		}
	}
}

func devicesOf(t *testing.T, feed *Feed, pod string) string {
	t.Helper()
	task := wholeModel(t, feed).tasks[pod]
	var out []string
	for _, slice := range task.GetSlices() {
		out = append(out, fmt.Sprint(slice.Device))
	}
	return strings.Join(out, ",")
}

func TestSlicesThatTheSchedulerDidNotSignDoNotCount(t *testing.T) {
	feed := signingFeed(t)
	feed.setPod(somePod("ours", "g", on("n1"), given(t, feed, 3, "research")))
	if got, said := devicesOf(t, feed, "pod-ours"), problemsOf(feed); got != "3" || said != "" {
		t.Fatalf("devices %q, %s", got, said)
	}
	forgeries := map[string]func(*corev1.Pod){
		"slices": func(p *corev1.Pod) {
			p.Annotations[annotations.SlicesKey] = strings.Replace(p.Annotations[annotations.SlicesKey], "GPU-5", "GPU-6", 1)
		},
		"queue":     annotated(annotations.QueueKey, "production"),
		"unsigned":  func(p *corev1.Pod) { delete(p.Annotations, annotations.SignatureKey) },
		"elsewhere": func(p *corev1.Pod) { p.Spec.NodeName = "n2" },
		"other pod": func(p *corev1.Pod) { p.UID += "-again" },
	}
	for name, forge := range forgeries {
		for _, of := range []func(*corev1.Pod){func(*corev1.Pod) {}, foreign} {
			pod := somePod("forged", "g", on("n1"), given(t, feed, 5, "research", forge), of)
			feed.setPod(pod)
			if got := devicesOf(t, feed, string(pod.UID)); got != "" {
				t.Errorf("%s: the pod has devices %s", name, got)
			}
			if said := problemsOf(feed); !strings.Contains(said, `Pod "team/forged": metadata.annotations[tephra.sh/slices-signature]`) {
				t.Errorf("%s: problems %q", name, said)
			}
			feed.dropPod(pod)
			if said := problemsOf(feed); said != "" {
				t.Errorf("%s: problems that stay: %s", name, said)
			}
		}
	}
}

func TestWhatWasSignedStaysWhenItIsForgedLater(t *testing.T) {
	feed := signingFeed(t)
	for name, forge := range map[string]func(*corev1.Pod){
		"changed": annotated(annotations.SlicesKey, "x"),
		"moved":   annotated(annotations.QueueKey, "production"),
		"removed": func(p *corev1.Pod) {
			for _, key := range []string{annotations.SlicesKey, annotations.QueueKey, annotations.SignatureKey} {
				delete(p.Annotations, key)
			}
		},
	} {
		feed.setPod(somePod("p", "g", on("n1"), given(t, feed, 3, "research")))
		feed.setPod(somePod("p", "g", on("n1"), given(t, feed, 3, "research", forge)))
		feed.setGroup(someGroup("g", 1, inQueue("production")))
		if got := devicesOf(t, feed, "pod-p"); got != "3" {
			t.Errorf("%s: devices %q, expected 3", name, got)
		}
		if queue := feed.groupsOf["group-g"].fact.GetQueue(); queue != "research" {
			t.Errorf("%s: charged to %s", name, queue)
		}
		// When its node comes back, too.
		node := feed.nodes["n1"].obj
		feed.dropNode(node)
		feed.setNode(node)
		if got := devicesOf(t, feed, "pod-p"); got != "3" {
			t.Errorf("%s: devices %q after its node came back, expected 3", name, got)
		}
	}
}

func TestPodsThatAreOlderThanTheKeysNeedNoSignature(t *testing.T) {
	feed := signingFeed(t)
	older := func(created time.Time) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			delete(p.Annotations, annotations.SignatureKey)
			p.CreationTimestamp = metav1.NewTime(created)
		}
	}
	since := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	feed.setPod(somePod("older", "g", on("n1"), given(t, feed, 3, "research", older(since.Add(-time.Second)))))
	feed.setPod(somePod("newer", "g", on("n1"), given(t, feed, 4, "research", older(since))))
	if a, b := devicesOf(t, feed, "pod-older"), devicesOf(t, feed, "pod-newer"); a != "3" || b != "" {
		t.Errorf("devices %q and %q, expected 3 and none", a, b)
	}
}

func TestWithoutKeysNothingIsSigned(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	if text, err := feed.Signature(annotations.Given{PodUID: "u"}); text != "" || err != nil {
		t.Error(text, err)
	}
	var none []*tephrav1.Slice
	if text, err := feed.SlicesAnnotation("u", "n", none); text != "" || err != nil {
		t.Error(text, err)
	}
}
