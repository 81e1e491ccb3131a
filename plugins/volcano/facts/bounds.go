package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"google.golang.org/protobuf/proto"

	"tephra.sh/volcano/tephrav1"
)

// Bounds of one gang. A user chooses these sizes with a few bytes of YAML, so the feed checks them before
// it does work that grows with them. A gang above a bound is a problem of its own object, and the engine
// never learns of the gang; other gangs are scheduled.
const (
	// Each task is a row of the engine, whether its pod exists or not.
	mostTasks = 1 << 16
	// Each partition of a task is a role and a sub-group of the engine. 8,192 partitions of 8 pods are mostTasks.
	mostRoles = 1 << 13
	// Each task has a pod with all volumes of the Job.
	mostJobVolumes = 1 << 16
	// Each pod of a namespace is matched with each budget there.
	mostBudgets = 256
	// The engine copies a pod template for each role that has it.
	mostTemplateBytes = 16 << 20
	// Each pod is matched with each sub-group policy.
	mostSubGroupPolicies = 64
	mostSelectorValues   = 64
	// The name of a role has a label value of each key.
	mostMatchLabelKeys = 8
	// Of one pod. A host port, an anti-affinity and a wish for GPUs cost the engine something on each node.
	mostHostPorts      = 64
	mostVolumes        = 256 // that tie the pod to nodes
	mostDisks          = 64  // in-tree disks, each RBD image once for each monitor
	mostAntiAffinities = 64
	mostModelWishes    = 64
	mostDeviceWishes   = 1024
	// Drivers of volumes of one node that have a limit there.
	mostDrivers = 64
	// Of one namespace, of pods that wait. A mask names each node that is out of the question. A gang whose pods have
	// volumes of their own needs one for each pod.
	mostMasks = 2048
	// A plan repeats the name of a role for each task.
	mostRoleNameBytes = 512
)

// jobBounds checks the size of the Job before any of its partitions is enumerated.
func jobBounds(job *batchv1alpha1.Job) *fault {
	var tasks, parts int64
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		tasks += int64(max(task.Replicas, 0))
		if tasks > mostTasks {
			return &fault{fmt.Sprintf("spec.tasks[%d].replicas", i), strconv.FormatInt(tasks, 10) + " pods in the Job up to this task",
				fmt.Sprintf("at most %d pods in a Job", mostTasks)}
		}
		parts += max(1, partitionsOf(task))
		if parts > mostRoles {
			return &fault{fmt.Sprintf("spec.tasks[%d].partitionPolicy", i), strconv.FormatInt(parts, 10) + " partitions in the Job up to this task",
				fmt.Sprintf("at most %d tasks and partitions in a Job; a larger partitionSize makes fewer", mostRoles)}
		}
	}
	if volumes := len(job.Spec.Volumes) * len(job.Spec.Tasks); volumes > mostJobVolumes {
		return &fault{"spec.volumes", fmt.Sprintf("%d volumes in each of %d tasks", len(job.Spec.Volumes), len(job.Spec.Tasks)),
			fmt.Sprintf("at most %d volumes in all tasks together", mostJobVolumes)}
	}
	return nil
}

// partitionsOf is into how many partitions the task is cut; 0: it is not partitioned.
func partitionsOf(task *batchv1alpha1.TaskSpec) int64 {
	policy := task.PartitionPolicy
	if policy == nil || policy.PartitionSize <= 0 {
		return 0
	}
	size := int64(policy.PartitionSize)
	return (int64(task.Replicas) + size - 1) / size
}

// selectorValues is how many labels and values the selector compares with those of a pod.
func selectorValues(selector *metav1.LabelSelector) int {
	count := len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		count += 1 + len(selector.MatchExpressions[i].Values)
	}
	return count
}

// gangBounds checks the gang as the engine would learn it.
func gangBounds(obj *schedulingv1beta1.PodGroup, gang *tephrav1.Gang) *Problem {
	var tasks, bytes int64
	var wrong *fault
	sizes := map[*tephrav1.PodTemplate]int64{}
	for _, role := range gang.GetRoles() {
		tasks += int64(role.Replicas)
		size, known := sizes[role.Pod]
		if !known {
			size = int64(proto.Size(role.Pod))
			sizes[role.Pod] = size
		}
		bytes += size
		if len(role.Name) > mostRoleNameBytes {
			wrong = &fault{"role " + strconv.Quote(short(role.Name)), fmt.Sprintf("a name of %d bytes", len(role.Name)),
				fmt.Sprintf("at most %d bytes of task name and values of matchLabelKeys", mostRoleNameBytes)}
		}
	}
	switch roles := len(gang.GetRoles()); {
	case tasks > mostTasks:
		wrong = &fault{"tasks", strconv.FormatInt(tasks, 10), fmt.Sprintf("at most %d tasks in a gang", mostTasks)}
	case roles > mostRoles:
		wrong = &fault{"roles", fmt.Sprintf("%d different kinds of pods and partitions", roles), fmt.Sprintf("at most %d in a gang", mostRoles)}
	case bytes > mostTemplateBytes:
		wrong = &fault{"roles", fmt.Sprintf("%d roles with %d bytes of pod templates together", roles, bytes),
			fmt.Sprintf("at most %d bytes; smaller pod templates or fewer partitions take less", mostTemplateBytes)}
	}
	if wrong == nil {
		return nil
	}
	problem := wrong.of(groupObject(obj), string(obj.UID))
	return &problem
}

// podBounds checks the sizes of what a pod says, before any of it is matched with nodes or other pods.
func podBounds(pod *corev1.Pod) *fault {
	ports := 0
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports++
			}
		}
	}
	if ports > mostHostPorts {
		return &fault{"spec.containers.ports", strconv.Itoa(ports) + " host ports", fmt.Sprintf("at most %d in a pod", mostHostPorts)}
	}
	volumes := 0
	for i := range pod.Spec.Volumes {
		if volumeTiesToNodes(&pod.Spec.Volumes[i]) {
			volumes++
		}
	}
	if volumes > mostVolumes {
		return &fault{"spec.volumes", strconv.Itoa(volumes) + " volumes of claims, CSI drivers and disks", fmt.Sprintf("at most %d in a pod", mostVolumes)}
	}
	if disks := len(diskLimits(pod)); disks > mostDisks {
		return &fault{"spec.volumes", "more than " + strconv.Itoa(mostDisks) + " disks, each RBD image counted once for each monitor",
			fmt.Sprintf("at most %d in a pod", mostDisks)}
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAntiAffinity != nil {
		if terms := len(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution); terms > mostAntiAffinities {
			return &fault{"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution", strconv.Itoa(terms) + " terms",
				fmt.Sprintf("at most %d", mostAntiAffinities)}
		}
	}
	for _, of := range []struct {
		keys []string
		most int
	}{{[]string{useModels, avoidModels}, mostModelWishes}, {slices.Concat(useDevices, avoidDevices), mostDeviceWishes}} {
		for _, key := range of.keys {
			if count := 1 + strings.Count(pod.Annotations[key], ","); count > of.most {
				return &fault{"metadata.annotations[" + key + "]", strconv.Itoa(count) + " parts", fmt.Sprintf("at most %d", of.most)}
			}
		}
	}
	return nil
}
