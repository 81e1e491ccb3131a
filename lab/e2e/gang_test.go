package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	bus "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func waits(condition scheduling.PodGroupCondition) bool {
	return condition.Status == core.ConditionFalse
}

func TestAGangOfSixteenRunsAndNoGPUIsGivenTwice(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	pods := given[[]core.Pod](t)(c.Pods(t.Context(), ns, "train"))
	if len(pods) != 16 {
		t.Fatalf("%d pods, expected 16", len(pods))
	}
	for i := range pods {
		slices := given[[]e2e.Slice](t)(e2e.SlicesOf(&pods[i]))
		if len(slices) != 1 || slices[0].Mode != "whole" || slices[0].UUID == "" {
			t.Errorf("pod %s: slices %+v, expected one whole GPU with its UUID", pods[i].Name, slices)
		}
	}
	ok(t, e2e.GivenTwice(pods, c.Nodes.GPUMemoryMiB))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		group, err := c.Group(ctx, ns, "train")
		if err != nil {
			return err
		}
		if said, _ := e2e.ConditionOf(group); said.Status != core.ConditionTrue {
			return fmt.Errorf("condition TephraScheduled: %+v, expected True", said)
		}
		return nil
	}))
}

func TestAGangTooLargeWaitsAndItsPodGroupSaysWhyInNumbers(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "vast").Task("worker", 33, e2e.GPUs(1)).Object()))
	said, err := c.Condition(t.Context(), ns, "vast", waits)
	ok(t, err)
	if !strings.Contains(said.Message, "33") || !strings.Contains(said.Message, "32") {
		t.Errorf("condition %s: %q, expected 33 asked and 32 there", said.Reason, said.Message)
	}
	if pods := given[[]core.Pod](t)(c.Pods(t.Context(), ns, "vast")); len(pods) > 0 {
		t.Errorf("%d pods of a gang that waits, expected none", len(pods))
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "small").Task("worker", 1, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "small", batch.Running))
}

func TestTwoGangsThatFitOnlyOneAtATimeBothEnd(t *testing.T) {
	c, ns := on(t)
	var names []string
	for i := range 3 {
		for _, side := range []string{"left", "right"} {
			name := fmt.Sprintf("%s-%d", side, i)
			ok(t, c.Submit(t.Context(), e2e.Job(ns, name).On(bus.TaskCompletedEvent, bus.CompleteJobAction).
				Task("worker", 20, e2e.GPUs(1), e2e.RunFor("100ms")).Object()))
			names = append(names, name)
		}
	}
	for _, name := range names {
		ok(t, c.JobReaches(t.Context(), ns, name, batch.Completed))
	}
}

func TestAJobDeletedWhileItWaitsLeavesItsRoomToOthers(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "first").Task("worker", 24, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "first", batch.Running))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "second").Task("worker", 2, e2e.GPUs(8)).Object()))
	_, err := c.Condition(t.Context(), ns, "second", waits)
	ok(t, err)
	ok(t, c.Delete(t.Context(), ns, "second"))
	// Deleted at any point between being admitted and having its pods.
	for i := range 5 {
		name := fmt.Sprintf("brief-%d", i)
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).Task("worker", 8, e2e.GPUs(1)).Object()))
		ok(t, c.Volcano.BatchV1alpha1().Jobs(ns).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "third").Task("worker", 1, e2e.GPUs(8)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "third", batch.Running))
}

// By no policy of its Job: restarting a task, Volcano's controller deletes the pod group too and may then leave
// the Job without one (volcano-sh/volcano#5385).
func TestAPodThatIsLostIsReplacedAndCompletesItsGangAgain(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 8, e2e.GPUs(2)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	lost := given[[]core.Pod](t)(c.Pods(t.Context(), ns, "train"))[3]
	ok(t, c.Kube.CoreV1().Pods(ns).Delete(t.Context(), lost.Name, metav1.DeleteOptions{}))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		again, err := c.Kube.CoreV1().Pods(ns).Get(ctx, lost.Name, metav1.GetOptions{})
		if err == nil && (again.UID == lost.UID || again.Status.Phase != core.PodRunning) {
			err = fmt.Errorf("pod %s: %s, uid %s, expected another one Running than %s", again.Name, again.Status.Phase, again.UID, lost.UID)
		}
		return err
	}))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
}

func TestFourQuartersShareOneGPU(t *testing.T) {
	c, ns := on(t)
	quarter := e2e.Limits(map[core.ResourceName]string{e2e.VGPUNumber: "1", e2e.VGPUCores: "25", e2e.VGPUMemory: "20000"})
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "notebooks").Task("notebook", 4, quarter).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "notebooks", batch.Running))
	pods := given[[]core.Pod](t)(c.Pods(t.Context(), ns, "notebooks"))
	gpus := map[string]int{}
	for i := range pods {
		for _, slice := range given[[]e2e.Slice](t)(e2e.SlicesOf(&pods[i])) {
			if slice.Mode != "fraction" || slice.Compute != 250 || slice.MemoryMiB != 20000 {
				t.Errorf("pod %s: %+v, expected a quarter with 20000 MiB", pods[i].Name, slice)
			}
			gpus[slice.UUID]++
		}
	}
	if len(gpus) != 1 {
		t.Errorf("GPUs %v, expected all four on one", gpus)
	}
	// The quarters that are left of no GPU are a whole one.
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "rest").Task("worker", 31, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "rest", batch.Running))
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
}
