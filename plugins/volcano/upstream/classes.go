package main

import "slices"

// The classes of cases.
const (
	mustEqual   = "equal"     // binds, evictions and phases as expected, pod by pod
	mustSatisfy = "invariant" // as many binds, and the laws that hold of any outcome
)

// exclusion is a kind of case, and why such cases are left out.
type exclusion struct {
	why   string
	holds func(*testCase) bool
}

var exclusions = []exclusion{
	{"the test opens a session and runs no action: it looks at functions of a Volcano plugin",
		func(c *testCase) bool { return len(c.Actions) == 0 }},
	{"upstream's test checks nothing of the session", func(c *testCase) bool { return c.Checked == "" }},
}

// ourExclusions are cases of things that the engine does not do yet.
var ourExclusions = []exclusion{
	{"network topology is not in the engine yet", usesTopology},
	{"reclaim is not in the engine yet", func(c *testCase) bool { return slices.Contains(c.Actions, "reclaim") }},
	{"preemption is not in the engine yet", func(c *testCase) bool { return slices.Contains(c.Actions, "preempt") }},
	{"node shards, by which several schedulers share a cluster, are not known to the engine",
		func(c *testCase) bool { return c.Cluster.ShardingMode != "" }},
}

// different are cases where we differ on purpose, by title.
var different = map[string]string{
	"enqueue/TestEnqueue-001": "a group is let in when its gang has room, and this cluster has no node; stock Volcano " +
		"lets any group in that asks for no resources",
	"capacity/TestCapacityPluginDRA-001": "limits of a queue on the device classes of resource claims are not in the " +
		"engine yet; they come with the capacity of queues",
}

func classify(c *testCase, ours bool) (class, why string) {
	all := exclusions
	if ours {
		all = slices.Concat(exclusions, ourExclusions)
	}
	for _, e := range all {
		if e.holds(c) {
			return excluded, e.why
		}
	}
	if !ours {
		return mustEqual, ""
	}
	if why, ok := different[c.title()]; ok {
		return excluded, why
	}
	if c.Expect.OnlyCount {
		return mustSatisfy, "upstream counts the binds only"
	}
	return mustEqual, ""
}

func usesTopology(c *testCase) bool {
	if len(c.Cluster.HyperNodes) > 0 {
		return true
	}
	for _, group := range c.Cluster.PodGroups {
		if group.Spec.NetworkTopology != nil || len(group.Spec.SubGroupPolicy) > 0 {
			return true
		}
	}
	return false
}
