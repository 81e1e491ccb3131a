package grouping

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volcanobatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Labels and annotations by which pods say what they belong to. JobSet's are of sigs.k8s.io/jobset v0.11
// (api/jobset/v1alpha2/jobset_types.go); MinMemberKey is Volcano's.
const (
	GroupKey     = v1beta1.KubeGroupNameAnnotationKey
	MinMemberKey = v1beta1.VolcanoGroupMinMemberAnnotationKey
	QueueKey     = v1beta1.QueueNameAnnotationKey
	RoleKey      = volcanobatch.TaskSpecKey

	jobSetName    = "jobset.sigs.k8s.io/jobset-name"
	jobSetUID     = "jobset.sigs.k8s.io/jobset-uid"
	replicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
)

// Assign writes into a new pod the PodGroup that it belongs to, and tells whether it did. It only reads the pod, so the pod's
// webhook can call it:
//
//   - pods of a JobSet are one group, each replicated job is a role;
//   - pods of an Indexed Job are one group;
//   - pods whose template has MinMemberKey are one group for each controlling owner.
//
// A pod that names a group keeps it, because its framework makes the PodGroup. Every other pod is left to Volcano's
// controller. Two groups never have the same name: it has the UID of the owner, as Volcano's names have.
func Assign(pod *corev1.Pod) bool {
	if pod.Annotations[GroupKey] != "" {
		return false
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	uid, role := string(owner.UID), ""
	switch {
	case pod.Labels[jobSetUID] != "":
		uid, role = pod.Labels[jobSetUID], pod.Labels[replicatedJob]
	case isJob(owner) && pod.Annotations[batchv1.JobCompletionIndexAnnotation] != "":
	case pod.Annotations[MinMemberKey] != "":
	default:
		return false
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, GroupKey, volcanobatch.PodgroupNamePrefix+uid)
	if role != "" && pod.Annotations[RoleKey] == "" && pod.Labels[RoleKey] == "" {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, RoleKey, role)
	}
	return true
}

func isJob(owner *metav1.OwnerReference) bool {
	return owner.Kind == "Job" && owner.APIVersion == batchv1.SchemeGroupVersion.String()
}
