package provisioning

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// What Tephra writes on a ProvisioningRequest.
const (
	GroupLabel  = "tephra.sh/podgroup-uid"
	NodesKey    = "tephra.sh/nodes"     // annotation: how many more nodes are enough
	NodeLikeKey = "tephra.sh/node-like" // annotation: a node of the kind
)

const mostPodSets = 32 // of a ProvisioningRequest

var provisioningRequests = schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1", Resource: "provisioningrequests"}

// podSet is so many pods of one template.
type podSet struct {
	object *corev1.PodTemplate
	count  int64
}

func requestName(uid string) string { return "tephra-" + uid }

func templateName(uid string, set int) string { return fmt.Sprintf("tephra-%s-%d", uid, set) }

// templates are the pods that the gang starts with: the minimum of each task, and more tasks in their order up to the minimum
// of the group.
func (a *Asker) templates(group *v1beta1.PodGroup) ([]podSet, error) {
	owner := metav1.GetControllerOf(group)
	if owner == nil || owner.Kind != "Job" || owner.APIVersion != v1alpha1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("no Volcano Job owns the PodGroup, so its pods are not known before they exist")
	}
	job, err := a.Jobs.Jobs(group.Namespace).Get(owner.Name)
	if err != nil {
		return nil, err
	}
	counts := minimum(job, group)
	var out []podSet
	for i, task := range job.Spec.Tasks {
		if counts[i] == 0 {
			continue
		}
		template := *task.Template.DeepCopy()
		template.Spec.SchedulerName = cmp.Or(template.Spec.SchedulerName, job.Spec.SchedulerName)
		out = append(out, podSet{&corev1.PodTemplate{ObjectMeta: about(group, templateName(string(group.UID), len(out))), Template: template}, counts[i]})
	}
	if len(out) > mostPodSets {
		return nil, fmt.Errorf("%d tasks, expected at most %d, as a ProvisioningRequest has", len(out), mostPodSets)
	}
	return out, nil
}

// minimum is how many pods of each task the gang starts with.
func minimum(job *v1alpha1.Job, group *v1beta1.PodGroup) []int64 {
	counts, sum := make([]int64, len(job.Spec.Tasks)), int64(0)
	for i, task := range job.Spec.Tasks {
		counts[i] = min(int64(group.Spec.MinTaskMember[cmp.Or(task.Name, v1alpha1.DefaultTaskSpec)]), int64(task.Replicas))
		sum += counts[i]
	}
	for i, task := range job.Spec.Tasks {
		more := max(0, min(int64(task.Replicas)-counts[i], int64(group.Spec.MinMember)-sum))
		counts[i], sum = counts[i]+more, sum+more
	}
	return counts
}

// about: the object goes with the group.
func about(group *v1beta1.PodGroup, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: group.Namespace, Name: name, Labels: map[string]string{GroupLabel: string(group.UID)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "PodGroup", Name: group.Name, UID: group.UID}}}
}

func requestOf(group *v1beta1.PodGroup, class string, sets []podSet, annotations map[string]string) *unstructured.Unstructured {
	var podSets []any
	for _, set := range sets {
		podSets = append(podSets, map[string]any{"podTemplateRef": map[string]any{"name": set.object.Name}, "count": set.count})
	}
	out := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": provisioningRequests.GroupVersion().String(), "kind": "ProvisioningRequest",
		"spec": map[string]any{"provisioningClassName": class, "podSets": podSets}}}
	meta := about(group, requestName(string(group.UID)))
	out.SetNamespace(meta.Namespace)
	out.SetName(meta.Name)
	out.SetLabels(meta.Labels)
	out.SetAnnotations(annotations)
	out.SetOwnerReferences(meta.OwnerReferences)
	return out
}
