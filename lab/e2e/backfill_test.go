package e2e_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func expected(runtime string) func(*batch.Job) {
	return func(job *batch.Job) {
		metav1.SetMetaDataAnnotation(&job.ObjectMeta, "tephra.sh/expected-runtime", runtime)
	}
}

func TestALargeGangHasAReservedStartAndOnlyAJobThatDoesNotDelayItGoesAhead(t *testing.T) {
	c, ns := on(t)
	engine := given[*e2e.Engine](t)(c.NewEngine("backfills-engine", "engine: {backfill: {mode: easy}}\n"))
	t.Cleanup(engine.Kill)
	ok(t, engine.Start(t.Context()))
	scheduler := given[*e2e.Scheduler](t)(c.NewScheduler("backfills", engine))
	instead(t, c, scheduler)
	ok(t, scheduler.IsReady(t.Context()))

	submit := func(name string, nodes int32, runtime string) {
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).With(expected(runtime)).Task("worker", nodes, e2e.GPUs(8)).Object()))
	}
	submit("holder", 3, "1h")
	ok(t, c.JobReaches(t.Context(), ns, "holder", batch.Running))
	submit("large", 4, "1h")
	reserved, err := c.Condition(t.Context(), ns, "large", func(condition scheduling.PodGroupCondition) bool {
		return waits(condition) && strings.Contains(condition.Message, "reserved to start at ")
	})
	ok(t, err)
	time.Sleep(1100 * time.Millisecond) // creation times are whole seconds, and the older job goes first
	submit("long", 1, "2h")
	_, err = c.Condition(t.Context(), ns, "long", func(condition scheduling.PodGroupCondition) bool {
		return waits(condition) && strings.Contains(condition.Message, "large")
	})
	ok(t, err)
	submit("short", 1, "10m")
	ok(t, c.JobReaches(t.Context(), ns, "short", batch.Running))
	still, err := c.Condition(t.Context(), ns, "large", waits)
	ok(t, err)
	if still.Message != reserved.Message {
		t.Errorf("large had %q, and %q when another job went ahead", reserved.Message, still.Message)
	}

	ok(t, c.Delete(t.Context(), ns, "short"))
	ok(t, c.Delete(t.Context(), ns, "holder"))
	ok(t, c.JobReaches(t.Context(), ns, "large", batch.Running))
	_, err = c.Condition(t.Context(), ns, "long", waits)
	ok(t, err)
}
