package main

import (
	"slices"
	"strings"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// The classes of cases.
const (
	mustEqual   = "equal"     // binds, evictions and phases as expected, pod by pod
	mustSatisfy = "invariant" // as many binds, and the laws that hold of any outcome
)

// exclusion is a kind of case, and why such cases are left out.
type exclusion struct {
	of    whose
	why   string
	holds func(*testCase) bool
}

// whose actions are not run on such cases.
type whose int

const (
	anyones whose = iota
	ourOwn        // they ask for what the engine does not do
)

// exclusions: of exclusions that apply, the first counts.
var exclusions = []exclusion{
	{anyones, "the test opens a session and runs no action: it looks at functions of a Volcano plugin",
		func(c *testCase) bool { return len(c.Actions) == 0 }},
	{ourOwn, "node shards, by which several schedulers share a cluster, are not known to the engine",
		func(c *testCase) bool { return c.Cluster.ShardingMode != "" }},
	{ourOwn, "limits of a queue on the device classes of resource claims are not in the engine", limitsDeviceClasses},
	{ourOwn, "a tree of queues that annotations of drf describe: with us the tree is that of the queues' parents",
		weighsHierarchy},
	{anyones, "upstream's test checks nothing of the session", func(c *testCase) bool { return c.Checked == "" }},
}

func classify(c *testCase, ours bool) (class, why string) {
	for _, e := range exclusions {
		if (ours || e.of == anyones) && e.holds(c) {
			return excluded, e.why
		}
	}
	if ours && c.Expect.OnlyCount {
		return mustSatisfy, "upstream counts the binds only"
	}
	return mustEqual, ""
}

func limitsDeviceClasses(c *testCase) bool {
	for _, queue := range c.Cluster.Queues {
		for kind := range queue.Spec.Capability {
			if strings.HasPrefix(string(kind), "deviceclass/") {
				return true
			}
		}
	}
	return false
}

func weighsHierarchy(c *testCase) bool {
	return slices.ContainsFunc(c.Cluster.Queues, func(queue *schedulingv1beta1.Queue) bool {
		return queue.Annotations[schedulingv1beta1.KubeHierarchyWeightAnnotationKey] != ""
	})
}
