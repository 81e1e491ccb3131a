package facts

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

func placedInQueue(queue string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[annotations.QueueKey] = queue }
}

func inQueue(queue string) func(*schedulingv1beta1.PodGroup) {
	return func(g *schedulingv1beta1.PodGroup) { g.Spec.Queue = queue }
}

// charged is the queue that the engine charges the group to, and whether a problem says that it is not the spec's.
func charged(t *testing.T, feed *Feed) (string, string) {
	t.Helper()
	queue, said := wholeModel(t, feed).jobs["group-g"].GetQueue(), ""
	for _, problem := range feed.Problems() {
		if problem.Condition == QueueChangeCondition {
			said = problem.Error()
		}
	}
	return queue, said
}

func TestWhatRunsStaysInTheQueueInWhichItWasPlaced(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n1"))
	feed.setGroup(someGroup("g", 1, inQueue("research")))
	feed.setPod(somePod("p-0", "g", on("n1"), placedInQueue("research")))
	feed.setPod(somePod("p-1", "g"))
	if queue, said := charged(t, feed); queue != "research" || said != "" {
		t.Fatalf("queue %q, %q", queue, said)
	}
	feed.setGroup(someGroup("g", 1, inQueue("production")))
	queue, said := charged(t, feed)
	if queue != "research" || !strings.HasPrefix(said, `PodGroup "team/g": spec.queue: "production", expected "research": pods`) {
		t.Errorf("after the patch: queue %q, %q", queue, said)
	}
	// A scheduler that has just started reads the same from the pods.
	fresh := idleFeed(t, Options{Admit: true})
	fresh.setGroup(someGroup("g", 1, inQueue("production")))
	fresh.setPod(somePod("p-0", "g", on("n1"), placedInQueue("research")))
	if queue, said := charged(t, fresh); queue != "research" || said == "" {
		t.Errorf("after a restart: queue %q, %q", queue, said)
	}
	// The change counts once nothing holds room in the old queue.
	feed.setPod(somePod("p-0", "g", on("n1"), placedInQueue("research"), phase(corev1.PodSucceeded)))
	if queue, said := charged(t, feed); queue != "production" || said != "" {
		t.Errorf("after its pods have ended: queue %q, %q", queue, said)
	}
}

func TestAPodOnItsWayToANodeHoldsItsGroupInItsQueue(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n1"))
	feed.setGroup(someGroup("g", 1, inQueue("research")))
	feed.setPod(somePod("p", "g"))
	feed.Sync()
	feed.HandedOver("pod-p", "n1", []*tephrav1.Slice{})
	feed.setGroup(someGroup("g", 1, inQueue("production")))
	if queue, said := charged(t, feed); queue != "research" || said == "" {
		t.Errorf("while it is bound: queue %q, %q", queue, said)
	}
	feed.BindFailed("pod-p")
	if queue, said := charged(t, feed); queue != "production" || said != "" {
		t.Errorf("after the binding failed: queue %q, %q", queue, said)
	}
}
