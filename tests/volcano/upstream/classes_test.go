package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func TestACaseIsExcludedByWhatItAsksFor(t *testing.T) {
	queue := func(change func(*schedulingv1beta1.Queue)) func(*testCase) {
		return func(c *testCase) {
			c.Cluster.Queues = append(c.Cluster.Queues, &schedulingv1beta1.Queue{})
			change(c.Cluster.Queues[0])
		}
	}
	for name, test := range map[string]struct {
		change      func(*testCase)
		stock, ours string
	}{
		"nothing special": {func(*testCase) {}, mustEqual, mustEqual},
		"no action":       {func(c *testCase) { c.Actions = nil }, excluded, excluded},
		"unchecked":       {func(c *testCase) { c.Checked = "" }, excluded, excluded},
		"binds counted":   {func(c *testCase) { c.Expect.OnlyCount = true }, mustEqual, mustSatisfy},
		"shards":          {func(c *testCase) { c.Cluster.ShardingMode = "soft" }, mustEqual, excluded},
		"device classes": {queue(func(q *schedulingv1beta1.Queue) {
			q.Spec.Capability = corev1.ResourceList{"deviceclass/gpu.com": resource.MustParse("1")}
		}), mustEqual, excluded},
		"drf's own tree": {queue(func(q *schedulingv1beta1.Queue) {
			q.Annotations = map[string]string{schedulingv1beta1.KubeHierarchyWeightAnnotationKey: "1/2"}
		}), mustEqual, excluded},
	} {
		c := &testCase{Actions: []string{"allocate"}, Checked: "ok"}
		test.change(c)
		for ours, want := range map[bool]string{false: test.stock, true: test.ours} {
			if got, _ := classify(c, ours); got != want {
				t.Errorf("%s, ours %v: %s, expected %s", name, ours, got, want)
			}
		}
	}
}
