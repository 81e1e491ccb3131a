package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

const (
	holds    = "holds"
	fails    = "fails"
	excluded = "excluded"
)

// row is one case and what was found.
type row struct {
	Case   string `json:"case"`
	What   string `json:"what"`
	Class  string `json:"class"`
	Result string `json:"result"`
	Why    string `json:"why"`
}

func judge(c *testCase, ours bool) row {
	r := row{Case: c.title(), What: c.Name}
	class, why := classify(c, ours)
	r.Class, r.Why = class, why
	if class == excluded {
		r.Result = excluded
		return r
	}
	got, err := play(c, ours)
	if err != nil {
		r.Result, r.Why = fails, err.Error()
		return r
	}
	r.Result = holds
	if wrong := differences(c, got, class == mustEqual); wrong != "" {
		r.Result, r.Why = fails, wrong
	}
	return r
}

// differences says where the outcome is not what was expected; empty: nowhere.
func differences(c *testCase, got *outcome, exactly bool) string {
	var wrong []string
	differs := func(of string, want, have any) {
		wrong = append(wrong, fmt.Sprintf("%s: expected %v, found %v", of, want, have))
	}
	if len(got.binds) != c.Expect.BindsNum {
		differs("binds", c.Expect.BindsNum, got.binds)
	} else if exactly && !c.Expect.OnlyCount && !maps.Equal(got.binds, c.Expect.Binds) {
		differs("binds", c.Expect.Binds, got.binds)
	}
	if want := slices.Sorted(slices.Values(c.Expect.Evicted)); !slices.Equal(want, got.evicted) {
		differs("evicted", want, got.evicted)
	}
	for job, nodes := range c.Expect.Pipelined {
		have := got.pipelined[job]
		if len(have) == 0 || slices.ContainsFunc(have, func(node string) bool { return !slices.Contains(nodes, node) }) {
			differs("pipelined of "+job, nodes, have)
		}
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
	wrong = append(wrong, c.broken(got.binds)...)
	slices.Sort(wrong)
	return strings.Join(wrong, "; ")
}

// broken lists the laws that hold of any outcome and do not of this one: a gang starts whole or not
// at all, a node is not given more than it has, a queue that is not open starts nothing.
func (c *testCase) broken(binds map[string]string) []string {
	var wrong []string
	taken, touched := map[string]corev1.ResourceList{}, map[string]bool{}
	started, there := map[string]int32{}, map[string]int32{}
	for _, pod := range c.Cluster.Pods {
		group := pod.Namespace + "/" + pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
		node := pod.Spec.NodeName
		if bound, ours := binds[name(pod)]; ours {
			node = bound
			touched[node] = true
			started[group]++
		}
		if node == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		there[group]++
		if taken[node] == nil {
			taken[node] = corev1.ResourceList{}
		}
		for _, container := range pod.Spec.Containers {
			addTo(taken[node], container.Resources.Requests)
		}
	}
	for _, group := range c.Cluster.PodGroups {
		key := group.Namespace + "/" + group.Name
		if started[key] > 0 && there[key] < group.Spec.MinMember {
			wrong = append(wrong, fmt.Sprintf("gang %s: %d of at least %d started", key, there[key], group.Spec.MinMember))
		}
		if queue := c.queue(group.Spec.Queue); started[key] > 0 && queue != nil &&
			queue.Status.State != "" && queue.Status.State != schedulingv1beta1.QueueStateOpen {
			wrong = append(wrong, fmt.Sprintf("gang %s started in queue %s, which is %s", key, queue.Name, queue.Status.State))
		}
	}
	for _, node := range c.Cluster.Nodes {
		if !touched[node.Name] {
			continue // some cases begin with a node that is given too much
		}
		for resource, sum := range taken[node.Name] {
			if most := node.Status.Allocatable[resource]; sum.Cmp(most) > 0 {
				wrong = append(wrong, fmt.Sprintf("node %s: %s of %s %s are given", node.Name, sum.String(), most.String(), resource))
			}
		}
	}
	return wrong
}

func addTo(sum, more corev1.ResourceList) {
	for kind, amount := range more {
		total := sum[kind]
		total.Add(amount)
		sum[kind] = total
	}
}

func (c *testCase) queue(name string) *schedulingv1beta1.Queue {
	for _, queue := range c.Cluster.Queues {
		if queue.Name == name {
			return queue
		}
	}
	return nil
}
