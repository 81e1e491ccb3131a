package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// broken lists the laws that hold of any outcome and do not of this one: a gang starts whole or not
// at all and is evicted down to its minimum or whole, a node is not given more than it has, a queue
// that is not open starts nothing.
func (c *testCase) broken(got *outcome) []string {
	var wrong []string
	taken, touched := map[string]corev1.ResourceList{}, map[string]bool{}
	started, there, evicted := map[string]int32{}, map[string]int32{}, map[string]int32{}
	for _, pod := range c.Cluster.Pods {
		group := pod.Namespace + "/" + pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
		node := pod.Spec.NodeName
		if bound, ours := got.binds[name(pod)]; ours {
			node = bound
			touched[node] = true
			started[group]++
		}
		if node == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		there[group]++
		if slices.Contains(got.evicted, name(pod)) {
			evicted[group]++
		}
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
		if left := there[key] - evicted[key]; evicted[key] > 0 && left > 0 && left < group.Spec.MinMember {
			wrong = append(wrong, fmt.Sprintf("gang %s: %d of at least %d are left", key, left, group.Spec.MinMember))
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
