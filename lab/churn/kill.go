package churn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tephra.sh/lab/e2e"
)

// killer kills the engine, the scheduler or both, and starts them again. Each kill waits for a random
// number of pods to have been bound, so that it falls into the middle of a gang's bindings.
type killer struct {
	cluster *e2e.Cluster
	random  *rand.Rand
	at      []int // pods bound, ascending; one entry a kill

	progress *progress

	engine, scheduler int // how often each was killed
	inPart            int // kills while some gang was bound in part
}

func newKiller(cluster *e2e.Cluster, progress *progress, random *rand.Rand, kills, pods int) *killer {
	k := &killer{cluster: cluster, progress: progress, random: random}
	for range kills {
		k.at = append(k.at, 1+random.IntN(max(pods-1, 1)))
	}
	slices.Sort(k.at)
	return k
}

// run returns when all kills are done, or the context ends.
func (k *killer) run(ctx context.Context) error {
	for len(k.at) > 0 {
		for k.progress.counts().bound < k.at[0] {
			if !sleep(ctx, time.Millisecond) {
				return nil
			}
		}
		k.at = k.at[1:]
		if err := k.once(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (k *killer) once(ctx context.Context) error {
	which := k.random.IntN(5)
	engine, scheduler := which != 0 && which != 1, which != 2 && which != 3
	if !sleep(ctx, time.Duration(k.random.IntN(10))*time.Millisecond) {
		return nil
	}
	if len(k.progress.boundInPart()) > 0 {
		k.inPart++
	}
	if engine {
		k.cluster.Engine.Kill()
		k.engine++
	}
	if scheduler {
		k.cluster.Scheduler.Kill()
		k.scheduler++
	}
	if !sleep(ctx, time.Duration(k.random.IntN(300))*time.Millisecond) {
		return nil
	}
	if scheduler {
		if err := k.cluster.Scheduler.Start(ctx); err != nil {
			return fmt.Errorf("after a kill: %w", err)
		}
	}
	if engine {
		if err := k.cluster.Engine.Start(ctx); err != nil {
			return fmt.Errorf("after a kill: %w", err)
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
