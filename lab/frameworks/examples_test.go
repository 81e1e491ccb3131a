package frameworks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"tephra.sh/lab/e2e"
	"tephra.sh/lab/frameworks"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// example is a file of examples/frameworks and what its framework does. All tests of an example are parts of
// TestExample/NAME, so that a row of docs/reference/frameworks.md can name the test of each cell.
type example struct {
	name, file string
	resource   schema.GroupVersionResource
	object     string
	pods       int   // that start together
	gang       int32 // minMember of its PodGroups
	groups     int
	queue      string
	gpus       int64 // of all pods
	rack       bool  // all pods of a group stand in one rack
	fragile    bool  // the job fails if it loses a pod
	// suspend is the path of a field that is true while the job has no pods; nil: the framework has none.
	suspend []string
	// resize changes the number of pods, which is `resized` then; nil: the framework cannot.
	resize  func(context.Context, *frameworks.Job) error
	resized int
	// ends makes the job end: these pods succeed, and the condition of that type is True. "": the job serves until it is deleted.
	endsWith, condition string
}

func resourceOf(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

func set(value any, path ...string) func(context.Context, *frameworks.Job) error {
	return func(ctx context.Context, job *frameworks.Job) error { return job.Set(ctx, value, path...) }
}

var (
	spec      = []string{"spec", "suspend"}
	runPolicy = []string{"spec", "runPolicy", "suspend"}
)

var examples = []example{
	{name: "JobSet", file: "jobset.yaml", resource: resourceOf("jobset.x-k8s.io", "v1alpha2", "jobsets"), object: "pretrain",
		pods: 2, gang: 2, groups: 1, queue: "research", gpus: 16, rack: true, suspend: spec, condition: "Completed"},
	{name: "LeaderWorkerSet", file: "leaderworkerset.yaml", resource: resourceOf("leaderworkerset.x-k8s.io", "v1", "leaderworkersets"), object: "serve",
		pods: 4, gang: 2, groups: 2, queue: "production", gpus: 32, rack: true, resize: set(1, "spec", "replicas"), resized: 2},
	{name: "MPIJob", file: "mpijob.yaml", resource: resourceOf("kubeflow.org", "v2beta1", "mpijobs"), object: "resnet",
		pods: 3, gang: 3, groups: 1, queue: "research", gpus: 16, rack: true, suspend: runPolicy, endsWith: "launcher", condition: "Succeeded"},
	{name: "RayCluster", file: "raycluster.yaml", resource: resourceOf("ray.io", "v1", "rayclusters"), object: "tune",
		pods: 3, gang: 3, groups: 1, queue: "research", gpus: 16, suspend: spec},
	{name: "PyTorchJob", file: "pytorchjob.yaml", resource: resourceOf("kubeflow.org", "v1", "pytorchjobs"), object: "finetune",
		pods: 4, gang: 4, groups: 1, queue: "research", gpus: 16, rack: true, suspend: runPolicy, endsWith: "master", condition: "Succeeded"},
	{name: "TFJob", file: "tfjob.yaml", resource: resourceOf("kubeflow.org", "v1", "tfjobs"), object: "ranking",
		pods: 2, gang: 2, groups: 1, queue: "research", gpus: 16, rack: true, suspend: runPolicy, condition: "Succeeded"},
	{name: "JAXJob", file: "jaxjob.yaml", resource: resourceOf("kubeflow.org", "v1", "jaxjobs"), object: "diffusion",
		pods: 4, gang: 4, groups: 1, queue: "research", gpus: 16, rack: true, suspend: runPolicy, condition: "Succeeded"},
	{name: "XGBoostJob", file: "xgboostjob.yaml", resource: resourceOf("kubeflow.org", "v1", "xgboostjobs"), object: "fraud",
		pods: 4, gang: 4, groups: 1, queue: "research", gpus: 4, rack: true, fragile: true, suspend: runPolicy, endsWith: "master", condition: "Succeeded"},
	{name: "PaddleJob", file: "paddlejob.yaml", resource: resourceOf("kubeflow.org", "v1", "paddlejobs"), object: "ocr",
		pods: 2, gang: 2, groups: 1, queue: "research", gpus: 16, rack: true, suspend: runPolicy, condition: "Succeeded"},
	{name: "TrainJob", file: "trainjob.yaml", resource: resourceOf("trainer.kubeflow.org", "v1alpha1", "trainjobs"), object: "pretrain",
		pods: 2, gang: 2, groups: 1, queue: "research", gpus: 16, rack: true, suspend: spec, condition: "Complete"},
	{name: "IndexedJob", file: "indexed-job.yaml", resource: resourceOf("batch", "v1", "jobs"), object: "finetune",
		pods: 4, gang: 4, groups: 1, queue: "research", gpus: 16, rack: true, suspend: spec, condition: "Complete"},
	{name: "VolcanoJob", file: "volcano-job.yaml", resource: resourceOf("batch.volcano.sh", "v1alpha1", "jobs"), object: "finetune",
		pods: 4, gang: 4, groups: 1, queue: "research", gpus: 16, rack: true},
	{name: "StatefulSet", file: "statefulset.yaml", resource: resourceOf("apps", "v1", "statefulsets"), object: "embeddings",
		pods: 4, gang: 4, groups: 1, queue: "production", gpus: 4, resize: set(6, "spec", "replicas"), resized: 6},
	{name: "Deployment", file: "deployment.yaml", resource: resourceOf("apps", "v1", "deployments"), object: "chat",
		pods: 4, gang: 1, groups: 1, queue: "production", gpus: 2, resize: set(6, "spec", "replicas"), resized: 6},
	{name: "Notebook", file: "notebook.yaml", resource: resourceOf("apps", "v1", "statefulsets"), object: "notebook",
		pods: 1, gang: 1, groups: 1, queue: "research", gpus: 1},
}

func TestExample(t *testing.T) {
	for _, one := range examples {
		t.Run(one.name, func(t *testing.T) { one.run(t) })
	}
}

const allGPUs = 32 // of the shared cluster

// run is the life of the example: each part needs the one before it.
func (x example) run(t *testing.T) {
	c, running := cluster(t)
	ns := namespace(t, c, running, "x-"+x.name)
	job := &frameworks.Job{Cluster: c, Namespace: ns, Resource: x.resource, Name: x.object}
	path, err := frameworks.Example(x.file)
	ok(t, err)
	t.Cleanup(func() {
		if err := job.Delete(context.Background()); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		for _, each := range []string{"fill-" + ns, "other-" + ns, ns} { // a part that failed left them
			if err := c.Clear(context.Background(), each); err != nil {
				t.Error(err)
			}
		}
	})
	ok(t, job.Data(t.Context()))
	part := func(name string, does func(t *testing.T)) {
		if !t.Failed() {
			t.Run(name, does)
		}
	}
	part("starts_whole", func(t *testing.T) {
		if x.gang == 1 { // each pod starts alone
			ok(t, job.Apply(t.Context(), path))
			ok(t, job.Runs(t.Context(), x.pods))
			return
		}
		// All but one of the GPUs that it needs are free.
		room := fill(t, c, ns, allGPUs-x.gpus+1)
		ok(t, job.Apply(t.Context(), path))
		x.waitsWhole(t, job)
		room()
		ok(t, job.Runs(t.Context(), x.pods))
	})
	part("group", func(t *testing.T) { x.checkGroups(t, job) })
	if x.rack {
		part("topology", func(t *testing.T) { x.checkRacks(t, job) })
	}
	part("loses_a_pod", func(t *testing.T) {
		if x.fragile {
			t.Skip("the framework lets the job fail")
		}
		lost := given[[]core.Pod](t)(job.Active(t.Context()))[x.pods-1]
		ok(t, c.Kube.CoreV1().Pods(ns).Delete(t.Context(), lost.Name, metav1.DeleteOptions{}))
		ok(t, x.runsWithout(t, job, lost))
	})
	if x.queue == "research" && x.gpus >= allGPUs/2 { // the other jobs are not preemptible, or hold less than a share
		part("is_reclaimed", func(t *testing.T) { x.checkReclaim(t, job) })
	}
	if x.suspend != nil {
		part("suspends", func(t *testing.T) {
			ok(t, job.Set(t.Context(), true, x.suspend...))
			ok(t, job.Runs(t.Context(), 0))
			fill(t, c, ns, allGPUs)() // what it had is free
			ok(t, job.Set(t.Context(), false, x.suspend...))
			ok(t, job.Runs(t.Context(), x.pods))
		})
	}
	if x.resize != nil {
		part("resizes", func(t *testing.T) {
			ok(t, x.resize(t.Context(), job))
			ok(t, job.Runs(t.Context(), x.resized))
		})
	}
	part("ends", func(t *testing.T) {
		if x.condition == "" {
			ok(t, job.Delete(t.Context()))
		} else {
			ok(t, job.Ends(t.Context(), x.endsWith))
			ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
				status, err := job.Condition(ctx, x.condition)
				if err == nil && status != "True" {
					err = fmt.Errorf("%s: condition %s is %q, expected True", x.name, x.condition, status)
				}
				return err
			}))
		}
		ok(t, job.Runs(t.Context(), 0))
		fill(t, c, ns, allGPUs)()
	})
}

// fill takes so many GPUs, one pod each, with pods that are not evicted; the function that comes back frees them.
func fill(t *testing.T, c *e2e.Cluster, ns string, gpus int64) (free func()) {
	t.Helper()
	name := "fill-" + ns
	ok(t, c.MakeNamespaceOnce(t.Context(), name))
	ok(t, c.Submit(t.Context(), e2e.Job(name, "fill").Queue("fill").Stays().Task("worker", int32(gpus), e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), name, "fill", batch.Running))
	return func() {
		t.Helper()
		ok(t, c.Delete(t.Context(), name, "fill"))
	}
}

// waitsWhole: the job asks for its room, and for two seconds no pod gets a node.
func (x example) waitsWhole(t *testing.T, job *frameworks.Job) {
	t.Helper()
	whole := x.pods - int(x.gang) // the other groups fit
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		groups, err := job.Groups(ctx)
		if err != nil {
			return err
		}
		if len(groups) != x.groups {
			return fmt.Errorf("%d PodGroups, expected %d", len(groups), x.groups)
		}
		waiting := 0
		for i := range groups {
			if said, known := e2e.ConditionOf(&groups[i]); known && said.Status == core.ConditionFalse {
				waiting++
			}
		}
		if waiting != 1 {
			return fmt.Errorf("%d PodGroups wait, expected 1", waiting)
		}
		return nil
	}))
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if bound := given[int](t)(job.Bound(t.Context())); bound != whole {
			t.Fatalf("%d pods have nodes, expected %d: there is no room for all", bound, whole)
		}
	}
}

func (x example) checkGroups(t *testing.T, job *frameworks.Job) {
	groups := given[[]scheduling.PodGroup](t)(job.Groups(t.Context()))
	if len(groups) != x.groups {
		t.Fatalf("%d PodGroups, expected %d", len(groups), x.groups)
	}
	pods := given[[]core.Pod](t)(job.Active(t.Context()))
	for _, group := range groups {
		if group.Spec.MinMember != x.gang || group.Spec.Queue != x.queue {
			t.Errorf("PodGroup %s: minMember %d in queue %q, expected %d in %q", group.Name, group.Spec.MinMember, group.Spec.Queue, x.gang, x.queue)
		}
		for _, pod := range pods {
			for key, value := range pod.Annotations {
				if strings.HasPrefix(key, "tephra.sh/expected") || strings.HasPrefix(key, "tephra.sh/checkpoint") {
					if group.Annotations[key] != value {
						t.Errorf("PodGroup %s: %s is %q, expected %q as on its pods", group.Name, key, group.Annotations[key], value)
					}
				}
			}
		}
	}
	for _, pod := range pods {
		if group := pod.Annotations[scheduling.KubeGroupNameAnnotationKey]; group == "" {
			t.Errorf("pod %s: no PodGroup", pod.Name)
		}
	}
}

func (x example) checkRacks(t *testing.T, job *frameworks.Job) {
	racks := map[string]map[string]bool{}
	for _, pod := range given[[]core.Pod](t)(job.Active(t.Context())) {
		node, err := job.Cluster.Kube.CoreV1().Nodes().Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
		ok(t, err)
		group := pod.Annotations[scheduling.KubeGroupNameAnnotationKey]
		if racks[group] == nil {
			racks[group] = map[string]bool{}
		}
		racks[group][node.Labels["tephra.sh/rack"]] = true
	}
	for group, names := range racks {
		if len(names) != 1 {
			t.Errorf("PodGroup %s stands in racks %v, expected one", group, names)
		}
	}
}

// runsWithout: the job runs again with all of its pods, and the lost one is none of them.
func (x example) runsWithout(t *testing.T, job *frameworks.Job, lost core.Pod) error {
	return e2e.Until(t.Context(), func(ctx context.Context) error {
		if err := job.Runs(ctx, x.pods); err != nil {
			return err
		}
		active, err := job.Active(ctx)
		for _, pod := range active {
			if pod.UID == lost.UID {
				return fmt.Errorf("pod %s is still there", pod.Name)
			}
		}
		return err
	})
}

// checkReclaim: another queue reclaims its share, so that the job loses pods. It comes back whole when the room is free.
func (x example) checkReclaim(t *testing.T, job *frameworks.Job) {
	c := job.Cluster
	before := map[string]bool{}
	for _, pod := range given[[]core.Pod](t)(job.Active(t.Context())) {
		before[string(pod.UID)] = true
	}
	name := "other-" + job.Namespace
	ok(t, c.MakeNamespaceOnce(t.Context(), name))
	rest := fill(t, c, job.Namespace, allGPUs-x.gpus)
	ok(t, c.Submit(t.Context(), e2e.Job(name, "urgent").Queue("production").Stays().Task("worker", 1, e2e.GPUs(8)).Object()))
	ok(t, c.JobReaches(t.Context(), name, "urgent", batch.Running))
	// What is left of the gang does not run in part for long.
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		bound, err := job.Bound(ctx)
		if err == nil && bound != 0 {
			err = fmt.Errorf("%d pods of a gang that lost some have nodes, expected none", bound)
		}
		return err
	}))
	ok(t, c.Delete(t.Context(), name, "urgent"))
	ok(t, job.Runs(t.Context(), x.pods))
	rest()
	for _, pod := range given[[]core.Pod](t)(job.Active(t.Context())) {
		if before[string(pod.UID)] {
			t.Logf("pod %s kept its node", pod.Name)
		}
	}
}

func given[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		ok(t, err)
		return value
	}
}
