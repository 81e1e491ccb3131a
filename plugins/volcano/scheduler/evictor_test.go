package scheduler

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
)

const why = "tephra: evicted for job team/owner of queue owners (reclaimed: queue guests holds more than its share)"

func somePod() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "p-1"},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}}
}

// did are the verbs of what was asked of the API server, and the last status that was written.
func did(client *fake.Clientset) (verbs []string, status v1.PodStatus) {
	for _, action := range client.Actions() {
		verbs = append(verbs, action.GetVerb())
		if update, is := action.(clienttesting.UpdateAction); is {
			status = update.GetObject().(*v1.Pod).Status
		}
	}
	return verbs, status
}

func TestAnEvictedPodSaysWhyBeforeItGoes(t *testing.T) {
	for reason, want := range map[string]string{why: why, "reclaim": "Pod is evicted, because of reclaim"} {
		client, events := fake.NewSimpleClientset(somePod()), record.NewFakeRecorder(1)
		if err := (&evictor{client, events}).Evict(somePod(), reason); err != nil {
			t.Fatal(err)
		}
		verbs, status := did(client)
		if !slices.Equal(verbs, []string{"update", "delete"}) {
			t.Errorf("%s: %v", reason, verbs)
		}
		conditions := map[v1.PodConditionType]v1.PodCondition{}
		for _, condition := range status.Conditions {
			conditions[condition.Type] = condition
		}
		if c := conditions[v1.DisruptionTarget]; c.Status != v1.ConditionTrue || c.Message != want || c.Reason != v1.PodReasonPreemptionByScheduler {
			t.Errorf("%s: DisruptionTarget %+v", reason, c)
		}
		if c := conditions[v1.PodReady]; c.Status != v1.ConditionFalse || c.Message != want || len(status.Conditions) != 2 {
			t.Errorf("%s: Ready %+v", reason, c)
		}
		if event := <-events.Events; event != "Warning Evict "+want {
			t.Errorf("%s: event %q", reason, event)
		}
	}
}

func TestAPodWhoseStatusHasChangedMeanwhileIsEvictedAllTheSame(t *testing.T) {
	client := fake.NewSimpleClientset(somePod())
	conflicts := 1
	client.PrependReactor("update", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(v1.Resource("pods"), "p", nil)
	})
	if err := (&evictor{client, &record.FakeRecorder{}}).Evict(somePod(), why); err != nil {
		t.Fatal(err)
	}
	if verbs, _ := did(client); !slices.Equal(verbs, []string{"update", "get", "update", "delete"}) {
		t.Error(verbs)
	}
}

func TestAnotherPodOfTheSameNameIsLeftAlone(t *testing.T) {
	another := somePod()
	another.UID = "p-2"
	client := fake.NewSimpleClientset(another)
	client.PrependReactor("update", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(v1.Resource("pods"), "p", nil)
	})
	if err := (&evictor{client, &record.FakeRecorder{}}).Evict(somePod(), why); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods("team").Get(context.Background(), "p", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAPodThatCannotBeMarkedStays(t *testing.T) {
	client := fake.NewSimpleClientset(somePod())
	client.PrependReactor("update", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1.Resource("pods"), "p", nil)
	})
	if err := (&evictor{client, &record.FakeRecorder{}}).Evict(somePod(), why); !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	if verbs, _ := did(client); slices.Contains(verbs, "delete") {
		t.Error(verbs)
	}
}
