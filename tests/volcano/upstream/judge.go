package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	holds    = "holds"
	differs  = "differs" // for a written reason
	fails    = "fails"
	excluded = "excluded"
)

// row is one case and what was found.
type row struct {
	Case   string `json:"case"`
	What   string `json:"what"`
	Class  string `json:"class"`
	Result string `json:"result"`
	Why    string `json:"why"`  // why it differs or is excluded, or where it fails
	With   string `json:"with"` // where it differs
}

// judge plays the case: with the stock actions, or with ours, for which a reason may be written.
func judge(c *testCase, ours bool, reason string) row {
	r := row{Case: c.title(), What: c.Name}
	r.Class, r.Why = classify(c, ours)
	if r.Class == excluded {
		r.Result = excluded
		return r
	}
	got, err := play(c, ours)
	if err != nil {
		r.Result, r.Why = fails, err.Error()
		return r
	}
	want, err := c.statuses(ours)
	if err != nil {
		r.Result, r.Why = fails, err.Error()
		return r
	}
	wrong, broken := strings.Join(differences(c, want, got, r.Class == mustEqual), "; "), c.broken(got)
	switch {
	case len(broken) > 0:
		r.Result, r.Why = fails, strings.Join(broken, "; ")
	case wrong != "" && reason != "":
		r.Result, r.Why, r.With = differs, reason, wrong
	case wrong != "":
		r.Result, r.Why = fails, wrong
	case reason != "":
		r.Result, r.Why = fails, "it holds, and a reason is written why it would not"
	default:
		r.Result = holds
	}
	return r
}

// differences says where the outcome is not what was expected.
func differences(c *testCase, want statuses, got *outcome, exactly bool) []string {
	var wrong []string
	differs := func(of string, want, have any) {
		wrong = append(wrong, fmt.Sprintf("%s: expected %v, found %v", of, want, have))
	}
	exactly = exactly && !c.Expect.OnlyCount
	if exactly && !maps.Equal(got.binds, want.binds) {
		differs("binds", places(want.binds), places(got.binds))
	} else if !exactly && len(got.binds) != c.Expect.BindsNum {
		differs("binds", c.Expect.BindsNum, len(got.binds))
	}
	if want := slices.Sorted(slices.Values(c.Expect.Evicted)); !slices.Equal(want, got.evicted) {
		differs("evicted", list(want), list(got.evicted))
	}
	if !maps.Equal(got.pipelined, want.pipelined) {
		differs("pipelined", places(want.pipelined), places(got.pipelined))
	}
	for job, phase := range c.Expect.Phases {
		if got.phases[job] != phase {
			differs("phase of "+job, phase, got.phases[job])
		}
	}
	for job, numbers := range c.Expect.TaskNumbers {
		for status, want := range numbers {
			if got.tasks[job][status] != want {
				differs(fmt.Sprintf("tasks of %s that are %s", job, status), want, got.tasks[job][status])
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func places(nodes map[string]string) string {
	var out []string
	for _, pod := range slices.Sorted(maps.Keys(nodes)) {
		out = append(out, pod+" on "+nodes[pod])
	}
	return list(out)
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
