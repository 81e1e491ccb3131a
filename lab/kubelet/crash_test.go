package kubelet_test

import (
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"tephra.sh/lab/kubelet"
)

// steps are those after which the plugin is killed; the last ones belong to giving back.
var steps = []string{
	"recorded", "applied whole", "applied fraction", "bound", "published", "settled",
	"withdrawn", "undone fraction", "undone whole", "released",
}

// One container with a whole GPU and a fraction: all that is cut here.
var both = map[string][]kubelet.Slice{"main": {kubelet.Fraction(1, 100, 1234), kubelet.Whole(0)}}

func TestKilledAfterEachStepItLosesNothingAndGivesNothingTwice(t *testing.T) {
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			node := startNode(t, 2)
			node.Plugin.Env = []string{"TEPHRA_NODE_CRASH_AFTER=" + step}
			if err := node.RestartPlugin(syscall.SIGTERM, 0); err != nil {
				t.Fatal(err)
			}
			node.Plugin.Env = nil
			killed := 0
			// Whether the plugin has ended by now; then it is begun again.
			revived := func(within time.Duration) bool {
				t.Helper()
				if node.Plugin.Ended(within) != nil {
					return false
				}
				killed++
				if err := node.Plugin.Start(); err != nil {
					t.Fatal(err)
				}
				return true
			}
			// The container as it is in the end, whatever happens to the plugin while it is created.
			created := func(pod *core.Pod) *kubelet.Sees {
				t.Helper()
				for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
					sees, err := node.Kubelet.Create(t.Context(), pod, "main")
					if !revived(300*time.Millisecond) && err == nil {
						return sees
					}
				}
				t.Fatal("not created within a minute")
				return nil
			}
			pod := kubelet.Annotated(kubelet.Pod("one", both), kubelet.Annotation(both))
			bind(t, node, pod)
			expect(t, created(pod), both["main"])
			// Its end. What it held is given back, and the next pod gets the same.
			node.API.Delete(pod.UID)
			node.Kubelet.Forget(pod.UID)
			node.Kubelet.Gone(pod.UID)
			next := kubelet.Annotated(kubelet.Pod("two", both), kubelet.Annotation(both))
			if revived(time.Second) {
				time.Sleep(time.Second) // until the kubelet has seen that the old one is gone
			}
			if err := node.Ready(); err != nil {
				t.Fatal(err)
			}
			bind(t, node, next)
			expect(t, created(next), both["main"])
			if killed != 1 {
				t.Errorf("killed %d times, expected once", killed)
			}
			status, err := node.Plugin.Status()
			if err != nil || len(status.Holdings) != 1 || status.Holdings[0].PodUID != string(next.UID) {
				t.Errorf("%+v, %v, expected what pod two holds and no more", status.Holdings, err)
			}
		})
	}
}

func TestKilledWhileItAdmitsItMakesNoContainerWithoutItsSlices(t *testing.T) {
	node := startNode(t, 2)
	node.Plugin.Env = []string{"TEPHRA_NODE_CRASH_AFTER=minted"}
	if err := node.RestartPlugin(syscall.SIGTERM, 0); err != nil {
		t.Fatal(err)
	}
	node.Plugin.Env = nil
	pod := kubelet.Annotated(kubelet.Pod("one", both), kubelet.Annotation(both))
	node.API.Put(pod)
	if err := node.Kubelet.Admit(pod); err == nil {
		t.Error("the pod was admitted although the plugin did not answer")
	}
	node.Kubelet.Forget(pod.UID) // the kubelet fails it for good; its owner makes another
	if err := node.Plugin.Ended(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := node.Plugin.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // until the kubelet has seen that the old one is gone
	if err := node.Ready(); err != nil {
		t.Fatal(err)
	}
	next := kubelet.Annotated(kubelet.Pod("two", both), kubelet.Annotation(both))
	bind(t, node, next)
	expect(t, create(t, node, next, "main"), both["main"])
}
