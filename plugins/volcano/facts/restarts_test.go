package facts

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	busv1alpha1 "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

func TestPodsRestartAloneIfTheAnnotationOrTheVolcanoJobSaysSo(t *testing.T) {
	policy := func(action busv1alpha1.Action, events ...busv1alpha1.Event) batchv1alpha1.LifecyclePolicy {
		return batchv1alpha1.LifecyclePolicy{Action: action, Events: events}
	}
	single := batchv1alpha1.LifecyclePolicy{Action: busv1alpha1.RestartPodAction, Event: busv1alpha1.PodEvictedEvent}
	type policies = []batchv1alpha1.LifecyclePolicy
	for _, test := range []struct {
		name             string
		annotation       string
		job, task, other policies // of the Job, and of its two tasks
		want             bool
		problem          string
	}{
		{name: "nothing"},
		{name: "the annotation", annotation: "task", want: true},
		{name: "the Job", job: policies{single}, want: true},
		{name: "the Job, by several events",
			job: policies{policy(busv1alpha1.RestartPodAction, busv1alpha1.PodFailedEvent, busv1alpha1.PodEvictedEvent)}, want: true},
		{name: "the Job, by any event", job: policies{policy(busv1alpha1.RestartPodAction, busv1alpha1.AnyEvent)}, want: true},
		{name: "the Job, for another event", job: policies{policy(busv1alpha1.RestartPodAction, busv1alpha1.PodFailedEvent)}},
		{name: "the first policy counts",
			job: policies{policy(busv1alpha1.RestartJobAction, busv1alpha1.AnyEvent), single}},
		{name: "all pods of the task restart", job: policies{policy(busv1alpha1.RestartTaskAction, busv1alpha1.PodEvictedEvent)}},
		{name: "one of the tasks", task: policies{single}},
		{name: "both tasks", task: policies{single}, other: policies{single}, want: true},
		{name: "a task goes before the Job", job: policies{single},
			other: policies{policy(busv1alpha1.RestartJobAction, busv1alpha1.PodEvictedEvent)}},
		{name: "the annotation goes before the Job", annotation: "gang", job: policies{single}},
		{name: "but the Job restarts as a whole", annotation: "task",
			job: policies{policy(busv1alpha1.RestartJobAction, busv1alpha1.PodEvictedEvent)},
			problem: `PodGroup "team/g": metadata.annotations[tephra.sh/on-migration]: "task", expected no policy of Job ` +
				`"j" that acts on more than the evicted pod, but policies[0].action is RestartJob`},
		{name: "but a task of the Job restarts as a whole", annotation: "task",
			other:   policies{policy(busv1alpha1.RestartTaskAction, busv1alpha1.AnyEvent)},
			problem: `but tasks[b].policies[0].action is RestartTask`},
	} {
		feed := idleFeed(t, Options{Admit: true})
		job := someJob("j", taskSpec("a", 1), taskSpec("b", 1))
		group := someGroup("g", 2, ownedBy(job))
		if test.annotation != "" {
			group.Annotations = map[string]string{annotations.OnMigrationKey: test.annotation}
		}
		feed.setGroup(group)
		feed.setJob(job)
		wholeModel(t, feed)
		// What the Job says changes what its group says.
		job = job.DeepCopy()
		job.Generation = 7
		job.Spec.Policies, job.Spec.Tasks[0].Policies, job.Spec.Tasks[1].Policies = test.job, test.task, test.other
		feed.setJob(job)
		if got := wholeModel(t, feed).jobs["group-g"].RestartsByTask; got != test.want {
			t.Errorf("%s: %v, expected %v", test.name, got, test.want)
		}
		problems := feed.Problems()
		if (test.problem == "") != (len(problems) == 0) || len(problems) == 1 && !strings.Contains(problems[0].Error(), test.problem) {
			t.Errorf("%s: problems %v, expected %q", test.name, problems, test.problem)
		}
	}
}

func TestAPodThatTerminatesIsReportedWithTheEndOfItsGracePeriod(t *testing.T) {
	end := metav1.NewTime(time.Unix(1000, 0))
	leaves := func(p *corev1.Pod) { p.DeletionTimestamp = &end }
	for name, test := range map[string]struct {
		change []func(*corev1.Pod)
		want   int64
	}{
		"it runs": {change: []func(*corev1.Pod){on("n1")}}, "it terminates": {change: []func(*corev1.Pod){on("n1"), leaves}, want: 1_000_000},
		"a pod of no group": {change: []func(*corev1.Pod){on("n1"), foreign, leaves}, want: 1_000_000},
		"it has ended":      {change: []func(*corev1.Pod){on("n1"), leaves, phase(corev1.PodSucceeded)}},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 1, func(*schedulingv1beta1.PodGroup) {}))
		feed.setPod(somePod("p", "g", test.change...))
		task := wholeModel(t, feed).tasks["pod-p"]
		if task == nil {
			task = &tephrav1.Task{}
		}
		if task.TerminatesByMs != test.want {
			t.Errorf("%s: %d, expected %d", name, task.TerminatesByMs, test.want)
		}
	}
}
