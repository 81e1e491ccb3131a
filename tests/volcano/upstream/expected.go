package main

import (
	"maps"
	"slices"
)

// statuses are where tasks are to start at once, and where later, by namespace/pod.
type statuses struct {
	binds     map[string]string
	pipelined map[string]string
}

// statuses is what the stock actions make of the case, or what ours is to make of it. With us any gang that
// finds room starts, also where a case leaves allocate out: there the starts are those of stock
// Volcano with allocate ahead of the case's actions. The evictions are the case's all the same.
func (c *testCase) statuses(ours bool) (statuses, error) {
	want := statuses{maps.Clone(c.Expect.Binds), map[string]string{}}
	for task, outcome := range c.Outcome {
		if outcome.Status == "Pipelined" {
			want.pipelined[task] = outcome.Node
		}
	}
	if !ours || slices.Contains(c.Actions, "allocate") {
		return want, nil
	}
	fuller, err := c.fresh()
	if err != nil {
		return want, err
	}
	fuller.Actions = slices.Concat([]string{"allocate"}, c.Actions)
	got, err := play(fuller, false)
	if err != nil {
		return want, err
	}
	return statuses{got.binds, got.pipelined}, nil
}
