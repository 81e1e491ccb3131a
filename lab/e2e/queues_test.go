package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// makeQueue applies a Queue that guarantees nothing any more once the test has ended: Volcano deletes
// none before it is closed and empty.
func makeQueue(t *testing.T, c *e2e.Cluster, name, spec string) {
	t.Helper()
	given[string](t)(c.Kubectl(t.Context(), fmt.Sprintf(`{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue",
		"metadata":{"name":%q},"spec":%s}`, name, spec), "apply", "-f", "-"))
	t.Cleanup(func() {
		if _, err := c.Kubectl(context.Background(), "", "patch", "queue", name, "--type=merge", "-p",
			`{"spec":{"guarantee":null,"deserved":null}}`); err != nil {
			t.Error(err)
		}
	})
	// Until its controller has opened it Volcano's webhook refuses jobs for it.
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		queue, err := c.Volcano.SchedulingV1beta1().Queues().Get(ctx, name, metav1.GetOptions{})
		if err == nil && queue.Status.State != scheduling.QueueStateOpen {
			err = fmt.Errorf("queue %s: state %q, expected Open", name, queue.Status.State)
		}
		return err
	}))
}

func TestWhatAQueueIsGuaranteedIsKeptForIt(t *testing.T) {
	c, ns := on(t)
	makeQueue(t, c, "guaranteed", `{"guarantee":{"resource":{"nvidia.com/gpu":"16"}},"deserved":{"nvidia.com/gpu":"16"}}`)
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		top, err := c.Engine.Tephra(ctx, "top", "queues", "--output", "wide")
		if err == nil && !strings.Contains(top, "guaranteed") {
			err = fmt.Errorf("tephra top queues, expected queue guaranteed:\n%s", top)
		}
		return err
	}))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "large").Task("worker", 20, e2e.GPUs(1)).Object()))
	said, err := c.Condition(t.Context(), ns, "large", func(condition scheduling.PodGroupCondition) bool {
		return condition.Reason == "QueueGuarantee"
	})
	ok(t, err)
	if want := "32 GPUs free, 16 GPUs guaranteed to other queues (the largest part to queue guaranteed), the job needs 20 GPUs"; !strings.Contains(said.Message, want) {
		t.Errorf("condition %q, expected %q", said.Message, want)
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "half").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "half", batch.Running))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "owner").Queue("guaranteed").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "owner", batch.Running))
}

func TestQueuesOfEqualWeightShareWhatIsFreed(t *testing.T) {
	c, ns := on(t)
	makeQueue(t, c, "early", `{"weight":1}`)
	makeQueue(t, c, "late", `{"weight":1}`)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "holder").Stays().Task("worker", 4, e2e.GPUs(8)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "holder", batch.Running))
	for _, queue := range []string{"early", "late"} {
		for i := range 8 {
			ok(t, c.Submit(t.Context(), e2e.Job(ns, fmt.Sprintf("%s-%d", queue, i)).Queue(queue).Task("worker", 4, e2e.GPUs(1)).Object()))
		}
	}
	_, err := c.Condition(t.Context(), ns, "late-7", waits)
	ok(t, err)
	ok(t, c.Delete(t.Context(), ns, "holder"))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		jobs, err := c.Volcano.BatchV1alpha1().Jobs(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		running := map[string]int{}
		for _, job := range jobs.Items {
			if job.Status.State.Phase == batch.Running {
				running[job.Spec.Queue]++
			}
		}
		if running["early"] != 4 || running["late"] != 4 {
			return fmt.Errorf("jobs that run: %v, expected four of each queue", running)
		}
		return nil
	}))
}
