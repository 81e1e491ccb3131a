package churn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"tephra.sh/lab/e2e"
)

// mostCycles a gang may be bound in part while nobody has decided about its other pods. Cycles begin
// when a scheduler's caches have synced.
const mostCycles = 2

// undecided looks for gangs that stay bound in part.
type undecided struct {
	cluster *e2e.Cluster
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
	return &undecided{cluster: cluster, since: map[string]instant{}, faults: map[string]string{}}
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
		now, err := u.now(ctx)
		if err != nil { // no scheduler answers, so no cycle passes
			continue
		}
		for _, gang := range gangs {
			u.look(ctx, gang, now)
		}
	}
}

func (u *undecided) now(ctx context.Context) (instant, error) {
	scheduler := u.cluster.Scheduler.Pid()
	// A cycle without a plan of the engine is none: nobody could have decided.
	cycle, err := u.cluster.Scheduler.Metric(ctx, "tephra_scheduler_engine_seconds")
	return instant{scheduler, cycle}, err
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
	placed, err := u.placed(ctx, gang)
	if err == nil && placed < gang.Least {
		u.faults[gang.Name] = fmt.Sprintf("%s: %d of %d pods bound, %d placed, for %.0f cycles and %.1f s",
			gang.Name, len(gang.bound), gang.Least, placed, passed, time.Since(gang.half).Seconds())
	}
}

// placed is how many of the gang's pods the engine has given a node.
func (u *undecided) placed(ctx context.Context, gang standing) (sum int32, err error) {
	text, err := u.cluster.Engine.Tephra(ctx, "explain", "job/"+namespace+"/"+gang.group, "--output", "json")
	if err != nil {
		return 0, err
	}
	var reply struct {
		Job struct {
			Roles []struct{ Placed int32 }
		}
	}
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		return 0, err
	}
	for _, role := range reply.Job.Roles {
		sum += role.Placed
	}
	return sum, nil
}
