package facts

import (
	"fmt"
	"slices"
	"strconv"

	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	busv1alpha1 "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
)

// restartsByTask: a pod that migrates restarts alone, and the other pods of the group run on. The group's
// annotation says so, or without it each task of its Volcano Job. The Job's controller has the last word: it
// may restart more pods than the annotation says.
func restartsByTask(obj *schedulingv1beta1.PodGroup, job *batchv1alpha1.Job) (bool, *fault) {
	text, given := obj.Annotations[annotations.OnMigrationKey]
	if !given {
		return job != nil && len(job.Spec.Tasks) > 0 && !slices.ContainsFunc(job.Spec.Tasks, func(task batchv1alpha1.TaskSpec) bool {
			action, _ := onEviction(job, &task)
			return action != busv1alpha1.RestartPodAction
		}), nil
	}
	alone, err := annotations.ParseOnMigration(text)
	if err != nil {
		return false, annotationFault(err)
	}
	if !alone || job == nil {
		return alone, nil
	}
	for i := range job.Spec.Tasks {
		switch action, said := onEviction(job, &job.Spec.Tasks[i]); action {
		case busv1alpha1.RestartPodAction, busv1alpha1.SyncJobAction, "":
		default:
			return false, &fault{"metadata.annotations[" + annotations.OnMigrationKey + "]", strconv.Quote(text),
				fmt.Sprintf("no policy of Job %q that acts on more than the evicted pod, but %s is %s", job.Name, said, action)}
		}
	}
	return alone, nil
}

// onEviction is what the controller of the Job does when it finds that a pod of the task was evicted, and the
// field that says so. Policies of the task go before policies of the Job. Without one it creates the pod again.
func onEviction(job *batchv1alpha1.Job, task *batchv1alpha1.TaskSpec) (busv1alpha1.Action, string) {
	find := func(policies []batchv1alpha1.LifecyclePolicy) int {
		return slices.IndexFunc(policies, func(policy batchv1alpha1.LifecyclePolicy) bool {
			events := append([]busv1alpha1.Event{policy.Event}, policy.Events...)
			return slices.Contains(events, busv1alpha1.PodEvictedEvent) || slices.Contains(events, busv1alpha1.AnyEvent)
		})
	}
	if i := find(task.Policies); i >= 0 {
		return task.Policies[i].Action, fmt.Sprintf("tasks[%s].policies[%d].action", taskName(task), i)
	}
	if i := find(job.Spec.Policies); i >= 0 {
		return job.Spec.Policies[i].Action, fmt.Sprintf("policies[%d].action", i)
	}
	return "", ""
}
