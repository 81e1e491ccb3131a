package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Patience is how long anything may take where the context allows more. Nothing takes a tenth of it
// on an idle machine.
const Patience = 30 * time.Second

const pollEvery = 50 * time.Millisecond

type final struct{ error }

func (f final) Unwrap() error { return f.error }

// Final marks an error that waiting will not cure.
func Final(err error) error { return final{err} }

// Until asks until the answer is nil; otherwise it returns the last one.
func Until(ctx context.Context, ask func(context.Context) error) error {
	return within(ctx, Patience, ask)
}

func within(ctx context.Context, patience time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		err := ask(ctx)
		if err == nil || errors.As(err, new(final)) {
			return err
		}
		if last == nil || ctx.Err() == nil { // an answer that was cut short says nothing
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", patience, last)
		case <-time.After(pollEvery):
		}
	}
}

// JobReaches waits until the Volcano Job is in one of the phases.
func (c *Cluster) JobReaches(ctx context.Context, namespace, name string, phases ...batch.JobPhase) error {
	err := Until(ctx, func(ctx context.Context) error {
		job, err := c.Volcano.BatchV1alpha1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !slices.Contains(phases, job.Status.State.Phase) {
			err = fmt.Errorf("job %s/%s: phase %q, expected %v", namespace, name, job.Status.State.Phase, phases)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, c.Story(ctx, namespace))
	}
	return nil
}

// Group is the pod group of a Volcano Job.
func (c *Cluster) Group(ctx context.Context, namespace, job string) (*scheduling.PodGroup, error) {
	groups, err := c.Volcano.SchedulingV1beta1().PodGroups(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range groups.Items {
		for _, owner := range groups.Items[i].OwnerReferences {
			if owner.Kind == "Job" && owner.Name == job {
				return &groups.Items[i], nil
			}
		}
	}
	return nil, fmt.Errorf("job %s/%s: no pod group", namespace, job)
}

// Condition waits for the condition TephraScheduled of the Job's pod group to be as the predicate says.
func (c *Cluster) Condition(ctx context.Context, namespace, job string, is func(scheduling.PodGroupCondition) bool) (found scheduling.PodGroupCondition, err error) {
	err = Until(ctx, func(ctx context.Context) error {
		group, err := c.Group(ctx, namespace, job)
		if err != nil {
			return err
		}
		var ok bool
		if found, ok = ConditionOf(group); !ok || !is(found) {
			return fmt.Errorf("pod group %s/%s: condition TephraScheduled is %+v", namespace, group.Name, found)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, c.Story(ctx, namespace))
	}
	return found, err
}

// ConditionOf is the group's condition TephraScheduled, if it has one.
func ConditionOf(group *scheduling.PodGroup) (scheduling.PodGroupCondition, bool) {
	for _, condition := range group.Status.Conditions {
		if condition.Type == "TephraScheduled" {
			return condition, true
		}
	}
	return scheduling.PodGroupCondition{}, false
}

// Pods of the namespace that a Job made; all of them where the name is empty.
func (c *Cluster) Pods(ctx context.Context, namespace, job string) ([]core.Pod, error) {
	options := metav1.ListOptions{}
	if job != "" {
		options.LabelSelector = batch.JobNameKey + "=" + job
	}
	pods, err := c.Kube.CoreV1().Pods(namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}

// Story is what the namespace looks like, for a message of failure.
func (c *Cluster) Story(ctx context.Context, namespace string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var story strings.Builder
	fmt.Fprintf(&story, "--- namespace %s\n", namespace)
	if jobs, err := c.Volcano.BatchV1alpha1().Jobs(namespace).List(ctx, metav1.ListOptions{}); err == nil {
		for _, job := range jobs.Items {
			fmt.Fprintf(&story, "job %s: %s %s %s\n", job.Name, job.Status.State.Phase, job.Status.State.Reason, job.Status.State.Message)
			if explained, err := c.Engine.Tephra(ctx, "explain", namespace+"/"+job.Name); err != nil {
				fmt.Fprintf(&story, "  %v\n", err)
			} else {
				fmt.Fprintf(&story, "  tephra explain: %s\n", strings.ReplaceAll(strings.TrimSpace(explained), "\n", "\n    "))
			}
		}
	}
	if groups, err := c.Volcano.SchedulingV1beta1().PodGroups(namespace).List(ctx, metav1.ListOptions{}); err == nil {
		for _, group := range groups.Items {
			fmt.Fprintf(&story, "pod group %s: %s\n", group.Name, group.Status.Phase)
			for _, condition := range group.Status.Conditions {
				fmt.Fprintf(&story, "  %s=%s %s: %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
			}
		}
	}
	if pods, err := c.Pods(ctx, namespace, ""); err == nil {
		for _, pod := range pods {
			fmt.Fprintf(&story, "pod %s: %s on %q %s%s\n", pod.Name, pod.Status.Phase, pod.Spec.NodeName, pod.Annotations[SlicesKey], scheduledWords(&pod))
		}
	}
	return story.String()
}

func scheduledWords(pod *core.Pod) string {
	if pod.DeletionTimestamp != nil {
		return " (being deleted)"
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == core.PodScheduled && condition.Status != core.ConditionTrue {
			return " " + condition.Reason + ": " + condition.Message
		}
	}
	return ""
}
