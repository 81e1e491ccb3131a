package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/tests/volcano/sink"
)

// standing measures on a cluster at work: all GPUs but those of one gang are taken.
func (b *bench) standing() (result, error) {
	var out result
	if err := b.submit("running", b.Nodes*gpusPerNode-gangSize, 1); err != nil {
		return out, err
	}
	b.Session(b.profile, b.tephra)
	if err := b.expectBindings(b.Nodes*gpusPerNode - gangSize); err != nil {
		return out, err
	}
	if err := b.settleDown(); err != nil {
		return out, err
	}
	var err error
	if out.Idle, out.Unchanged, err = b.againstIdle(); err != nil {
		return out, err
	}
	if out.GangIdle, out.Gang, err = b.gangs(); err != nil {
		return out, err
	}
	if err := b.submit("waiting", b.Nodes/10, gangSize+1); err != nil {
		return out, err
	}
	if err := b.settleDown(); err != nil {
		return out, err
	}
	out.WaitIdle, out.WaitSame, err = b.againstIdle()
	return out, err
}

// settleDown runs cycles until one changes nothing.
func (b *bench) settleDown() error {
	for range 3 {
		if err := b.Settle(); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
		b.Session(b.profile, b.tephra)
	}
	return b.Settle()
}

// againstIdle times the cycle in which nothing is new against the one that does nothing.
func (b *bench) againstIdle() (idle, same sink.Cost, err error) {
	var theirs, ours []sink.Cost
	for range b.Rounds {
		for _, turn := range []struct {
			action framework.Action
			costs  *[]sink.Cost
		}{{sink.Idle, &theirs}, {b.tephra, &ours}} {
			cost, err := b.cycle(turn.action)
			if err != nil {
				return idle, same, err
			}
			*turn.costs = append(*turn.costs, cost)
		}
	}
	return median(theirs), median(ours), nil
}

// gangs times a gang of 512 that comes, is placed and goes again, against a cycle that leaves it.
func (b *bench) gangs() (idle, placed sink.Cost, err error) {
	var theirs, ours []sink.Cost
	for round := range b.Rounds {
		group, pods := sink.Gang(fmt.Sprintf("gang-%d", round), queue, gangSize, sink.GPUs(1))
		objects := []runtime.Object{group}
		for _, pod := range pods {
			objects = append(objects, pod)
		}
		if err := b.Add(objects...); err != nil {
			return idle, placed, err
		}
		for _, turn := range []struct {
			action framework.Action
			costs  *[]sink.Cost
		}{{sink.Idle, &theirs}, {b.tephra, &ours}} {
			cost, err := b.cycle(turn.action)
			if err != nil {
				return idle, placed, err
			}
			*turn.costs = append(*turn.costs, cost)
		}
		if err := b.expectBindings(gangSize); err != nil {
			return idle, placed, err
		}
		if err := b.Settle(); err != nil {
			return idle, placed, err
		}
		if err := b.Delete(objects...); err != nil {
			return idle, placed, err
		}
		if err := b.settleDown(); err != nil {
			return idle, placed, err
		}
	}
	return median(theirs), median(ours), nil
}

// median of each figure by itself.
func median(costs []sink.Cost) sink.Cost {
	middle := func(of func(sink.Cost) time.Duration) time.Duration {
		sorted := slices.SortedFunc(slices.Values(costs), func(a, b sink.Cost) int { return cmp.Compare(of(a), of(b)) })
		return of(sorted[len(sorted)/2])
	}
	return sink.Cost{
		Wall:   middle(func(c sink.Cost) time.Duration { return c.Wall }),
		CPU:    middle(func(c sink.Cost) time.Duration { return c.CPU }),
		Engine: middle(func(c sink.Cost) time.Duration { return c.Engine }),
	}
}
