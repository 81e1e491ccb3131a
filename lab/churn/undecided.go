package churn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
)

// mostCycles a gang may be bound in part without a decision about its other pods. Cycles begin
// when a scheduler's caches have synced.
const mostCycles = 2

// undecided looks for gangs that stay bound in part.
type undecided struct {
	cycle func(context.Context) (instant, error)
	// decided: a decision was made: a node for each pod, or its end. Otherwise what is known of the gang.
	decided func(context.Context, Gang) (yes bool, said string, err error)
	since   map[string]instant
	faults  map[string]string
	longest time.Duration // that any gang was bound in part
}

// instant is a cycle of one scheduler process.
type instant struct {
	scheduler int // its process id
	cycle     float64
}

func newUndecided(cluster *e2e.Cluster) *undecided {
	return &undecided{
		cycle: func(ctx context.Context) (instant, error) {
			scheduler := cluster.Scheduler.Pid()
			// A cycle without a plan of the engine is none: nothing could have been decided.
			cycle, err := cluster.Scheduler.Metric(ctx, "tephra_scheduler_engine_seconds")
			return instant{scheduler, cycle}, err
		},
		decided: func(ctx context.Context, gang Gang) (bool, string, error) {
			yes, said, err := decided(ctx, cluster.Engine, gang)
			if yes || err != nil {
				return yes, said, err
			}
			inPart, err := inPartNow(ctx, cluster, gang)
			return !inPart, said, err
		},
		since: map[string]instant{}, faults: map[string]string{},
	}
}

// run looks until the context ends.
func (u *undecided) run(ctx context.Context, boundInPart func() []standing) {
	for sleep(ctx, 20*time.Millisecond) {
		gangs := boundInPart()
		seen := map[string]bool{}
		for _, gang := range gangs {
			seen[gang.Name] = true
			u.longest = max(u.longest, time.Since(gang.half))
		}
		for name := range u.since {
			if !seen[name] {
				delete(u.since, name)
			}
		}
		if len(gangs) == 0 {
			continue
		}
		now, err := u.cycle(ctx)
		if err != nil { // no scheduler answers, so no cycle passes
			continue
		}
		for _, gang := range gangs {
			u.look(ctx, gang, now)
		}
	}
}

func (u *undecided) look(ctx context.Context, gang standing, now instant) {
	since, known := u.since[gang.Name]
	if !known || since.scheduler != now.scheduler {
		u.since[gang.Name] = now
		return
	}
	passed := now.cycle - since.cycle
	if passed <= mostCycles {
		return
	}
	if yes, said, err := u.decided(ctx, gang.Gang); err == nil && !yes {
		u.faults[gang.Name] = fmt.Sprintf("%s: %d of %d pods bound for %.0f cycles and %.1f s, without a decision about the other pods: %s",
			gang.Name, len(gang.bound), gang.Least, passed, time.Since(gang.half).Seconds(), said)
	}
}

// inPartNow asks the API server, for a machine with much to do tells a watch late.
func inPartNow(ctx context.Context, cluster *e2e.Cluster, gang Gang) (bool, error) {
	job, err := cluster.Volcano.BatchV1alpha1().Jobs(namespace).Get(ctx, gang.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	pods, err := cluster.Pods(ctx, namespace, gang.Name)
	if err != nil {
		return false, err
	}
	now := newProgress(nil)
	now.submitted(gang)
	now.job(job, false)
	for i := range pods {
		now.pod(&pods[i], false)
	}
	return len(now.boundInPart()) > 0, nil
}

// decided: the engine has given enough of the gang's pods a node, or evicts the pods that have one.
// An error: the engine does not answer.
func decided(ctx context.Context, engine *e2e.Engine, gang Gang) (yes bool, said string, err error) {
	text, err := engine.Tephra(ctx, "explain", "job/"+namespace+"/"+gang.Name, "--output", "json")
	if err != nil && strings.Contains(err.Error(), "the engine knows none") {
		return false, "the engine does not know it", nil
	}
	if err != nil {
		return false, "", err
	}
	var reply struct {
		Job struct {
			Roles   []struct{ Placed, Pending int32 }
			Note    struct{ Text string }
			Verdict string
		}
		Tasks []struct{ Phase string }
	}
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		return false, "", err
	}
	for _, task := range reply.Tasks {
		if task.Phase == "TASK_PHASE_RELEASING" {
			return true, "", nil
		}
	}
	if reply.Job.Verdict == "VERDICT_START_AFTER_EVICTION" {
		return true, "", nil // room is reserved for the other pods
	}
	placed, pending := int32(0), int32(0)
	for _, role := range reply.Job.Roles {
		placed += role.Placed
		pending += role.Pending
	}
	return placed >= gang.Least, fmt.Sprintf("%d placed, %d pending, %q", placed, pending, reply.Job.Note.Text), nil
}
