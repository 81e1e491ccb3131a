package churn

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
)

// election makes a lease change hands within about two seconds.
var election = []string{"--leader-elect=true", "--leader-elect-lease-duration=2s", "--leader-elect-renew-deadline=1500ms",
	"--leader-elect-retry-period=300ms", FewLogs}

// Bindings that the API server took before the fault are still reported for so long.
const stillOnTheWay = 200 * time.Millisecond

// Failover is what is done to a cluster whose leader fails again and again.
type Failover struct {
	Runs  int
	Pause bool // the leader is paused; otherwise it is killed
	Gangs int  // of four pods with one GPU for each fault, at least 2; half are submitted before it, half after it
	Say   func(format string, values ...any)
}

// Takeovers are what came of it.
type Takeovers struct {
	Nodes   int       `json:"nodes"`
	Pods    int       `json:"pods"`    // that Fill made
	Seconds []float64 `json:"seconds"` // from each fault to the first binding by the standby
	Faults  []string  `json:"faults"`  // GPUs given twice, pods without theirs
}

// replica is a scheduler with an engine of its own, as the deployment has it.
type replica struct {
	engine    *e2e.Engine
	scheduler *e2e.Scheduler
}

func newReplica(ctx context.Context, c *e2e.Cluster, name string) (*replica, error) {
	engine, err := c.NewEngine("engine-"+name, "")
	if err != nil {
		return nil, err
	}
	scheduler, err := c.NewScheduler(name, engine, election...)
	if err != nil {
		return nil, err
	}
	if err := engine.Start(ctx); err != nil {
		return nil, err
	}
	return &replica{engine, scheduler}, scheduler.Start(ctx)
}

// FailOver lets the leader of two schedulers fail while gangs are being bound, and takes the time until the other binds.
func FailOver(ctx context.Context, c *e2e.Cluster, options Failover) (*Takeovers, error) {
	report := &Takeovers{Nodes: c.Nodes.Count, Faults: []string{}}
	c.Scheduler.Kill()
	c.Engine.Kill()
	leader, err := newReplica(ctx, c, "replica-0")
	if err != nil {
		return nil, err
	}
	if err := leader.scheduler.IsReady(ctx); err != nil {
		return nil, err
	}
	standby, err := newReplica(ctx, c, "replica-1")
	if err != nil {
		return nil, err
	}
	devices, binds := NewDevices(c.Nodes.GPUMemoryMiB), &firstBind{}
	group, ctx := errgroup.WithContext(ctx)
	ctx, done := context.WithCancel(ctx)
	defer done()
	if err := binds.follow(ctx, group, c, func(pod *core.Pod, gone bool) {
		report.Faults = append(report.Faults, devices.Observe(pod, gone)...)
	}); err != nil {
		return nil, err
	}
	for i := range options.Runs {
		if err := standby.scheduler.IsReady(ctx); err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		took, err := failOnce(ctx, c, i, options, leader, binds)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		options.Say("run %d: the standby binds %.2f s after the fault", i, took.Seconds())
		report.Seconds = append(report.Seconds, took.Seconds())
		leader.scheduler.Kill()
		if err := leader.engine.Restart(ctx); err != nil {
			return nil, err
		}
		if err := leader.scheduler.Start(ctx); err != nil {
			return nil, err
		}
		leader, standby = standby, leader
	}
	done()
	return report, group.Wait()
}

// failOnce submits gangs, lets the leader fail when the first of them has a node, submits more, and waits for all of them.
func failOnce(ctx context.Context, c *e2e.Cluster, i int, options Failover, leader *replica, binds *firstBind) (time.Duration, error) {
	begun := binds.expect(time.Now())
	name := func(g int) string { return fmt.Sprintf("run-%d-gang-%d", i, g) }
	submit := func(from, to int) error {
		for g := from; g < to; g++ {
			gang := Gang{Name: name(g), Queue: "research", Pods: 4, Least: 4, Asks: map[core.ResourceName]string{e2e.GPU: "1"}}
			if err := c.Submit(ctx, gang.Job()); err != nil {
				return err
			}
		}
		return nil
	}
	if err := submit(0, options.Gangs/2); err != nil {
		return 0, err
	}
	select {
	case <-begun:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	failed := time.Now()
	taken := binds.expect(failed.Add(stillOnTheWay))
	if options.Pause {
		if err := syscall.Kill(leader.scheduler.Pid(), syscall.SIGSTOP); err != nil {
			return 0, err
		}
	} else {
		leader.scheduler.Kill()
	}
	if err := submit(options.Gangs/2, options.Gangs); err != nil {
		return 0, err
	}
	var took time.Duration
	select {
	case at := <-taken:
		took = at.Sub(failed)
	case <-time.After(time.Minute):
		return 0, fmt.Errorf("no binding within a minute of the fault")
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for g := range options.Gangs {
		if err := c.JobReaches(ctx, namespace, name(g), "Running"); err != nil {
			return 0, err
		}
		if err := c.Volcano.BatchV1alpha1().Jobs(namespace).Delete(ctx, name(g), metav1.DeleteOptions{}); err != nil {
			return 0, err
		}
	}
	return took, nil
}
