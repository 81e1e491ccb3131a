package e2e

import (
	"context"
	"fmt"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	bus "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Resources that nodes of the lab have.
const (
	GPU        = "nvidia.com/gpu"
	VGPUNumber = "volcano.sh/vgpu-number"
	VGPUMemory = "volcano.sh/vgpu-memory"
	VGPUCores  = "volcano.sh/vgpu-cores"
)

// JobSpec is a Volcano Job being put together.
type JobSpec struct{ job *batch.Job }

// Change is one more thing about a pod.
type Change func(*core.PodTemplateSpec)

// Job begins a Job of queue "research" that runs until it is deleted.
func Job(namespace, name string) *JobSpec {
	return &JobSpec{&batch.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batch.JobSpec{SchedulerName: "volcano", Queue: "research"},
	}}
}

// Task adds that many equal pods, all of which the gang needs.
func (j *JobSpec) Task(name string, replicas int32, changes ...Change) *JobSpec {
	template := core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec: core.PodSpec{
			RestartPolicy:                 core.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64), // a played kubelet has nothing to wait for
			Containers:                    []core.Container{{Name: "main", Image: "none"}},
		},
	}
	for _, change := range changes {
		change(&template)
	}
	j.job.Spec.Tasks = append(j.job.Spec.Tasks, batch.TaskSpec{Name: name, Replicas: replicas, Template: template})
	j.job.Spec.MinAvailable += replicas
	return j
}

// Queue sets the queue.
func (j *JobSpec) Queue(name string) *JobSpec {
	j.job.Spec.Queue = name
	return j
}

// AtLeast sets how many pods have to run at once; all of them otherwise.
func (j *JobSpec) AtLeast(pods int32) *JobSpec {
	j.job.Spec.MinAvailable = pods
	return j
}

// On adds a policy: what is done when that happens to a pod.
func (j *JobSpec) On(event bus.Event, action bus.Action) *JobSpec {
	j.job.Spec.Policies = append(j.job.Spec.Policies, batch.LifecyclePolicy{Event: event, Action: action})
	return j
}

// Priority names the priority class.
func (j *JobSpec) Priority(class string) *JobSpec {
	j.job.Spec.PriorityClassName = class
	return j
}

// Stays keeps the Job from being evicted for other jobs.
func (j *JobSpec) Stays() *JobSpec {
	metav1.SetMetaDataAnnotation(&j.job.ObjectMeta, scheduling.PodPreemptable, "false")
	return j
}

// With changes anything else.
func (j *JobSpec) With(change func(*batch.Job)) *JobSpec {
	change(j.job)
	return j
}

// Object is the Job.
func (j *JobSpec) Object() *batch.Job { return j.job }

// Limits are what the pod's container asks for.
func Limits(amounts map[core.ResourceName]string) Change {
	return func(pod *core.PodTemplateSpec) {
		limits := core.ResourceList{}
		for name, amount := range amounts {
			limits[name] = resource.MustParse(amount)
		}
		pod.Spec.Containers[0].Resources = core.ResourceRequirements{Limits: limits, Requests: limits.DeepCopy()}
	}
}

// GPUs are that many whole ones.
func GPUs(count int) Change {
	return Limits(map[core.ResourceName]string{GPU: fmt.Sprint(count), core.ResourceCPU: "1", core.ResourceMemory: "1Gi"})
}

// Annotated sets an annotation.
func Annotated(key, value string) Change {
	return func(pod *core.PodTemplateSpec) { pod.Annotations[key] = value }
}

// RunFor ends the pod well, that long after it began to run: "100ms".
func RunFor(duration string) Change { return Annotated("lab.tephra.sh/run-for", duration) }

// Submit creates the Job.
func (c *Cluster) Submit(ctx context.Context, job *batch.Job) error {
	_, err := c.Volcano.BatchV1alpha1().Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	return err
}

// Delete deletes the Job, and returns when its pods have gone too.
func (c *Cluster) Delete(ctx context.Context, namespace, job string) error {
	err := c.Volcano.BatchV1alpha1().Jobs(namespace).Delete(ctx, job, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return Until(ctx, func(ctx context.Context) error {
		pods, err := c.Pods(ctx, namespace, job)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("job %s/%s: %d pods are left of it", namespace, job, len(pods))
		}
		return err
	})
}

// MakeNamespace returns when pods can be created in it.
func (c *Cluster) MakeNamespace(ctx context.Context, name string) error {
	namespace := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	return Until(ctx, func(ctx context.Context) error {
		_, err := c.Kube.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// Clear deletes all Jobs, pod groups and pods of the namespace, and returns when they have gone.
func (c *Cluster) Clear(ctx context.Context, namespace string) error {
	all, none := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}
	if err := c.Volcano.BatchV1alpha1().Jobs(namespace).DeleteCollection(ctx, all, none); err != nil {
		return err
	}
	if err := c.Volcano.SchedulingV1beta1().PodGroups(namespace).DeleteCollection(ctx, all, none); err != nil {
		return err
	}
	return Until(ctx, func(ctx context.Context) error {
		if err := c.Kube.CoreV1().Pods(namespace).DeleteCollection(ctx, all, none); err != nil {
			return err
		}
		pods, err := c.Pods(ctx, namespace, "")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("namespace %s: %d pods are left", namespace, len(pods))
		}
		return err
	})
}

// MakeNamespaceOnce makes the namespace unless it is there.
func (c *Cluster) MakeNamespaceOnce(ctx context.Context, name string) error {
	err := c.MakeNamespace(ctx, name)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
