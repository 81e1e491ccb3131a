package migrate

import (
	"cmp"
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volcano "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// KAI's own pods hold the GPUs that it divides. They go when the last pod with a part of the GPU goes.
const kaiReservations = "kai-resource-reservation"

// workload is the object that a user changes to move its pods.
type workload struct {
	metav1.ObjectMeta
	kind      string
	templates []corev1.Pod  // what its pods look like before webhooks; if the kind has no template that is read here: one of its pods
	pods      []*corev1.Pod // that have a node
	bare      bool          // a pod that nothing creates again
}

type ref struct{ kind, namespace, name string }

// readWorkloads finds the objects above the pods, also objects without pods.
func (c *check) readWorkloads() error {
	found := map[ref]*workload{}
	owners := map[ref]ref{} // of objects that another object controls
	add := func(kind string, meta *metav1.ObjectMeta, templates ...corev1.PodTemplateSpec) {
		at := ref{kind, meta.Namespace, meta.Name}
		if owner := metav1.GetControllerOf(meta); owner != nil {
			owners[at] = ref{owner.Kind, meta.Namespace, owner.Name}
			return
		}
		w := &workload{ObjectMeta: *meta, kind: kind}
		for _, template := range templates {
			pod := corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			pod.Namespace, pod.Name = meta.Namespace, meta.Name
			w.templates = append(w.templates, pod)
		}
		found[at] = w
	}
	if err := errors.Join(
		each(c.Cluster, "apps", "Deployment", func(o *appsv1.Deployment) { add("Deployment", &o.ObjectMeta, o.Spec.Template) }),
		each(c.Cluster, "apps", "ReplicaSet", func(o *appsv1.ReplicaSet) { add("ReplicaSet", &o.ObjectMeta, o.Spec.Template) }),
		each(c.Cluster, "apps", "StatefulSet", func(o *appsv1.StatefulSet) { add("StatefulSet", &o.ObjectMeta, o.Spec.Template) }),
		each(c.Cluster, "apps", "DaemonSet", func(o *appsv1.DaemonSet) { add("DaemonSet", &o.ObjectMeta, o.Spec.Template) }),
		each(c.Cluster, "batch", "CronJob", func(o *batchv1.CronJob) { add("CronJob", &o.ObjectMeta, o.Spec.JobTemplate.Spec.Template) }),
		each(c.Cluster, "batch", "Job", func(o *batchv1.Job) {
			if !ended(o) {
				add("Job", &o.ObjectMeta, o.Spec.Template)
			}
		}),
		each(c.Cluster, volcanoBatch, "Job", func(o *volcano.Job) {
			if !gangEnded(o) {
				add(volcanoJob, &o.ObjectMeta, templatesOf(o)...)
			}
		}),
	); err != nil {
		return err
	}
	c.assign(found, owners)
	return nil
}

const volcanoJob = "Volcano Job"

// templatesOf are the templates of the tasks, with the scheduler that their pods get.
func templatesOf(gang *volcano.Job) (templates []corev1.PodTemplateSpec) {
	for _, task := range gang.Spec.Tasks {
		template := task.Template
		template.Spec.SchedulerName = cmp.Or(template.Spec.SchedulerName, gang.Spec.SchedulerName)
		templates = append(templates, template)
	}
	return templates
}

func gangEnded(gang *volcano.Job) bool {
	return slices.Contains([]volcano.JobPhase{volcano.Completed, volcano.Failed, volcano.Aborted, volcano.Terminated}, gang.Status.State.Phase)
}

func ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(each batchv1.JobCondition) bool {
		return (each.Type == batchv1.JobComplete || each.Type == batchv1.JobFailed) && each.Status == corev1.ConditionTrue
	})
}

// assign gives each pod to the object at the top of its owners.
func (c *check) assign(found map[ref]*workload, owners map[ref]ref) {
	for i := range c.pods {
		pod := &c.pods[i]
		if pod.Namespace == kaiReservations || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		at, bare := ref{"Pod", pod.Namespace, pod.Name}, true
		if owner := metav1.GetControllerOf(pod); owner != nil {
			at, bare = ref{owner.Kind, pod.Namespace, owner.Name}, owner.Kind == "Node"
			if owner.APIVersion == volcano.SchemeGroupVersion.String() {
				at.kind = volcanoJob
			}
			if bare {
				at = ref{"Pod", pod.Namespace, pod.Name}
			}
		}
		for range len(owners) { // owners form no circle, unless someone wrote one
			above, given := owners[at]
			if !given {
				break
			}
			at = above
		}
		w := found[at]
		if w == nil {
			meta := pod.ObjectMeta
			meta.Name, meta.Labels, meta.Annotations = at.name, nil, nil
			template := *pod.DeepCopy()
			template.Spec.NodeName = ""
			w = &workload{ObjectMeta: meta, kind: at.kind, templates: []corev1.Pod{template}, bare: bare}
			found[at] = w
		}
		if live(pod) {
			w.pods = append(w.pods, pod)
		}
	}
	for _, w := range found {
		with := slices.ContainsFunc(w.templates, func(pod corev1.Pod) bool { return c.requestsGPUs(&pod) })
		other := slices.ContainsFunc(w.templates, func(pod corev1.Pod) bool { return replaced(pod.Spec.SchedulerName) })
		shows := slices.ContainsFunc(w.templates, func(pod corev1.Pod) bool { return c.visible(&pod) != "" })
		if !with && !other && !shows {
			continue
		}
		c.workloads = append(c.workloads, w)
		if !with {
			continue
		}
		c.report.Workloads++
		for _, pod := range w.pods {
			if c.requestsGPUs(pod) {
				c.report.Pods++
				if n := c.nodes[pod.Spec.NodeName]; n != nil {
					n.pods++
					n.whole += c.whole(pod)
				}
			}
		}
	}
	slices.SortFunc(c.workloads, func(a, b *workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.Name, b.Name))
	})
}

// replaced: the scheduler goes with its stack.
func replaced(scheduler string) bool {
	return scheduler == "hami-scheduler" || scheduler == "kai-scheduler"
}

// whole are the GPUs that the pod requests by nvidia.com/gpu alone.
func (c *check) whole(pod *corev1.Pod) (sum int64) {
	asks, wrong := c.table.Containers(pod, cutting)
	if wrong != nil {
		return 0
	}
	for i := range asks {
		if asks[i].Whole() {
			sum += int64(asks[i].Count)
		}
	}
	return sum
}
