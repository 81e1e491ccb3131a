package e2e_test

import (
	"testing"

	core "k8s.io/api/core/v1"
	"tephra.sh/lab"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// A scheduler with a node selector and an engine of its own uses its part of the nodes only, beside a scheduler of another
// name.
func TestASchedulerOfAPartUsesItsNodesOnly(t *testing.T) {
	c, ns := on(t)
	const name, rack = "part-b", "rack-1"
	engine := given[*e2e.Engine](t)(c.NewEngine("engine-part-b", ""))
	ok(t, engine.Start(t.Context()))
	t.Cleanup(engine.Kill)
	part := given[*e2e.Scheduler](t)(c.NewScheduler(name, engine, "--scheduler-name="+name, "--node-selector="+lab.RackLabel+":"+rack))
	ok(t, part.Start(t.Context()))
	t.Cleanup(part.Kill)
	ok(t, part.IsReady(t.Context()))
	inPart := map[string]bool{}
	for i := range c.Nodes.Count {
		inPart[c.Nodes.Name(i)] = lab.RackName(c.Nodes.Rack(i)) == rack
	}
	job := e2e.Job(ns, "train").Task("worker", 12, e2e.GPUs(1)).Object()
	job.Spec.SchedulerName = name
	ok(t, c.Submit(t.Context(), job))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	for _, pod := range given[[]core.Pod](t)(c.Pods(t.Context(), ns, "train")) {
		if !inPart[pod.Spec.NodeName] {
			t.Errorf("pod %s runs on %s, which is not in %s", pod.Name, pod.Spec.NodeName, rack)
		}
	}
	// 16 GPUs are in the part, and the cluster has 32.
	waitsBecause(t, c, e2e.Job(ns, "larger").Task("worker", 17, e2e.GPUs(1)).With(func(job *batch.Job) { job.Spec.SchedulerName = name }),
		"would not start even in an empty cluster")
	unharmed(t, c, ns, "other")
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
}
