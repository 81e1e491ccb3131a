package grouping

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
)

// Size is how many pods a gang needs, in all and of each role.
type Size struct {
	Min   int32
	Roles map[string]int32 // nil: any pods will do
}

// mostPods bounds the sum over an owner, so that it is a number of pods.
const mostPods = 1 << 20

// sizeOfJob is the gang of a Job: all pods, if they run at the same time. If a Job runs some pods
// after other pods, they do not need each other.
func sizeOfJob(job map[string]any) Size {
	pods, together := podsOfJob(job)
	if !together {
		return Size{Min: 1}
	}
	return Size{Min: pods}
}

// podsOfJob is how many pods of the Job run at the same time, and whether these are all. The defaults are Kubernetes'.
func podsOfJob(job map[string]any) (pods int32, together bool) {
	parallelism, completions := number(job, 1, "spec", "parallelism"), number(job, 0, "spec", "completions")
	if completions == 0 { // absent: the Job ends with its first success
		return int32(parallelism), true
	}
	return int32(min(parallelism, completions)), parallelism >= completions
}

// sizeOfJobSet is the gang of a JobSet: the pods of the replicated jobs that start at once. A replicated job that waits for
// another one, by startupPolicy or dependsOn, does not count: a gang that waited for its pods would never start.
func sizeOfJobSet(set map[string]any) Size {
	order, _, _ := unstructured.NestedString(set, "spec", "startupPolicy", "startupPolicyOrder")
	jobs, _, _ := unstructured.NestedSlice(set, "spec", "replicatedJobs")
	size := Size{Roles: map[string]int32{}}
	for i, one := range jobs {
		job, _ := one.(map[string]any)
		name, _, _ := unstructured.NestedString(job, "name")
		waits, _, _ := unstructured.NestedSlice(job, "dependsOn")
		template, _, _ := unstructured.NestedMap(job, "template")
		if i > 0 && order == "InOrder" || len(waits) > 0 {
			continue
		}
		pods, _ := podsOfJob(template)
		count := min(number(job, 1, "replicas")*int64(pods), mostPods)
		if name != "" && count > 0 {
			size.Roles[name] = int32(count)
			size.Min = min(size.Min+int32(count), mostPods)
		}
	}
	size.Min = max(size.Min, 1)
	return size
}

// number is the whole number at the path, bounded to counts of pods.
func number(object map[string]any, otherwise int64, path ...string) int64 {
	value, found, err := unstructured.NestedInt64(object, path...)
	if !found || err != nil {
		return otherwise
	}
	return min(max(value, 0), mostPods)
}

// stated is the minimum that the annotation states; an error says what is wrong with it.
func stated(of map[string]string) (int32, bool, error) {
	text, given := of[MinMemberKey]
	if !given {
		return 0, false, nil
	}
	least, err := strconv.ParseInt(text, 10, 32)
	if err != nil || least < 1 || least > mostPods {
		return 0, false, fmt.Errorf("metadata.annotations[%s]: %q, expected a whole number from 1 to %d", MinMemberKey, text, mostPods)
	}
	return int32(least), true, nil
}

// ordered are pods by name, so that the first one speaks for all.
func ordered(pods []*corev1.Pod) []*corev1.Pod {
	return slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
}

// first is the first value of the annotation among the pods, and whether one has it.
func first(pods []*corev1.Pod, key string) (string, bool) {
	for _, pod := range pods {
		if value, given := pod.Annotations[key]; given {
			return value, true
		}
	}
	return "", false
}

// inherited are the annotations of pods that count for their PodGroup. The user is none of them: a policy of the cluster may
// set it on PodGroups, and what a pod states would get around the policy.
var inherited = []string{
	annotations.ExpectedRuntimeKey, annotations.CheckpointIntervalKey, annotations.MinRuntimeKey, annotations.MovableKey,
	annotations.OnMigrationKey, v1beta1.PodPreemptable, v1beta1.CooldownTime,
	topologyMode, topologyTier,
}

// inheritedBy are what a group lacks of these. Pods are in order.
func inheritedBy(group *v1beta1.PodGroup, pods []*corev1.Pod) map[string]string {
	out := map[string]string{}
	for _, key := range inherited {
		_, annotated := group.Annotations[key]
		_, labelled := group.Labels[key]
		if value, given := first(pods, key); given && !annotated && !labelled {
			out[key] = value
		}
	}
	return out
}

// priorityClass is that of the pod with the highest priority.
func priorityClass(pods []*corev1.Pod) string {
	name, highest := "", int32(0)
	for _, pod := range pods {
		if class := pod.Spec.PriorityClassName; class != "" && pod.Spec.Priority != nil && (name == "" || *pod.Spec.Priority > highest) {
			name, highest = class, *pod.Spec.Priority
		}
	}
	return name
}

// managedBy marks the PodGroups that this package made.
const (
	managedBy = "app.kubernetes.io/managed-by"
	tephra    = "tephra"
)

// podGroup is the group of pods, which are in order and at least one, with that size. Owner may be nil.
func podGroup(namespace, name string, size Size, owner *metav1.OwnerReference, pods []*corev1.Pod) *v1beta1.PodGroup {
	group := &v1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{managedBy: tephra}},
		Spec:       v1beta1.PodGroupSpec{MinMember: size.Min, MinTaskMember: size.Roles, PriorityClassName: priorityClass(pods)},
	}
	group.Spec.Queue, _ = first(pods, QueueKey)
	group.Annotations = inheritedBy(group, pods)
	if owner != nil {
		group.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return group
}

// resized has the size, or is nil if the group has it already.
func resized(group *v1beta1.PodGroup, size Size) *v1beta1.PodGroup {
	if group.Spec.MinMember == size.Min && maps.Equal(group.Spec.MinTaskMember, size.Roles) {
		return nil
	}
	changed := group.DeepCopy()
	changed.Spec.MinMember, changed.Spec.MinTaskMember = size.Min, size.Roles
	return changed
}
