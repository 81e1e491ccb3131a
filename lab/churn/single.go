package churn

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	"tephra.sh/lab/e2e"
)

// Singles are single-pod jobs, one after the other, on a cluster that is otherwise quiet.
type Singles struct {
	Runs int
	Say  func(format string, values ...any)
}

// Starts are what came of them.
type Starts struct {
	Nodes        int       `json:"nodes"`
	Pods         int       `json:"pods"`          // that Fill made
	Seconds      []float64 `json:"seconds"`       // from the submission of each job to its binding
	SchedulerMiB float64   `json:"scheduler_mib"` // resident at the end
	EngineMiB    float64   `json:"engine_mib"`
}

// Single submits one job after the other and takes the time until its pod has a node.
func Single(ctx context.Context, c *e2e.Cluster, options Singles) (*Starts, error) {
	report := &Starts{Nodes: c.Nodes.Count}
	binds := &firstBind{}
	group, ctx := errgroup.WithContext(ctx)
	ctx, done := context.WithCancel(ctx)
	defer done()
	if err := binds.follow(ctx, group, c, func(*core.Pod, bool) {}); err != nil {
		return nil, err
	}
	for i := range options.Runs {
		gang := Gang{Name: fmt.Sprintf("single-%d", i), Queue: "research", Pods: 1, Least: 1, Asks: map[core.ResourceName]string{e2e.GPU: "1"}}
		began := time.Now()
		at := binds.expect(began)
		if err := c.Submit(ctx, gang.Job()); err != nil {
			return nil, err
		}
		select {
		case then := <-at:
			report.Seconds = append(report.Seconds, then.Sub(began).Seconds())
			options.Say("job %d is bound after %.3f s", i, then.Sub(began).Seconds())
		case <-time.After(time.Minute):
			return nil, fmt.Errorf("job %s: no binding within a minute", gang.Name)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !sleep(ctx, 500*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
	report.SchedulerMiB, report.EngineMiB = residentMiB(c.Scheduler.Pid()), residentMiB(c.Engine.Pid())
	done()
	return report, group.Wait()
}
