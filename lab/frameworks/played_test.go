package frameworks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/frameworks"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// played makes pods as a framework would whose controller does not run here.
type played struct {
	*testing.T
	job *frameworks.Job
}

func play(t *testing.T) *played {
	c, running := cluster(t)
	ns := namespace(t, c, running, t.Name())
	t.Cleanup(func() {
		for _, each := range []string{"fill-" + ns, ns} {
			if err := c.Clear(context.Background(), each); err != nil {
				t.Error(err)
			}
		}
	})
	return &played{t, &frameworks.Job{Cluster: c, Namespace: ns}}
}

// pod creates a pod of the scheduler; owner may be nil.
func (p *played) pod(name string, gpus int64, labels, annotations map[string]string, owner *core.Pod) *core.Pod {
	p.Helper()
	amounts := core.ResourceList{core.ResourceCPU: *resource.NewQuantity(2, resource.DecimalSI)}
	if gpus > 0 {
		amounts["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations},
		Spec: core.PodSpec{SchedulerName: "volcano", RestartPolicy: core.RestartPolicyNever,
			Containers: []core.Container{{Name: "main", Image: "none", Resources: core.ResourceRequirements{Limits: amounts, Requests: amounts}}}}}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, core.SchemeGroupVersion.WithKind("Pod"))}
	}
	made, err := p.job.Cluster.Kube.CoreV1().Pods(p.job.Namespace).Create(p.Context(), pod, metav1.CreateOptions{})
	ok(p.T, err)
	return made
}

// Spark 3.3 or later with `spark.kubernetes.scheduler.name=volcano` and Volcano's feature step: spark-submit makes a PodGroup
// and the driver; the driver makes the executors when it runs. A minimum of more than the driver would never start.
func TestPlayedSpark(t *testing.T) {
	p := play(t)
	const group = "spark-0123456789abcdef-podgroup"
	least := core.ResourceList{core.ResourceCPU: resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("12")}
	_, err := p.job.Cluster.Volcano.SchedulingV1beta1().PodGroups(p.job.Namespace).Create(t.Context(), &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: group}, Spec: scheduling.PodGroupSpec{MinMember: 1, MinResources: &least, Queue: "research"}}, metav1.CreateOptions{})
	ok(t, err)
	of := func(role string) (labels, annotations map[string]string) {
		return map[string]string{"spark-role": role, "spark-app-selector": "spark-0123456789abcdef"},
			map[string]string{scheduling.KubeGroupNameAnnotationKey: group, "tephra.sh/expected-runtime": "2h"}
	}
	labels, annotations := of("driver")
	driver := p.pod("etl-driver", 0, labels, annotations, nil)
	ok(t, p.job.Runs(t.Context(), 1))
	labels, annotations = of("executor")
	for i := 1; i <= 3; i++ {
		p.pod(fmt.Sprintf("etl-exec-%d", i), 4, labels, annotations, driver)
	}
	ok(t, p.job.Runs(t.Context(), 4))
	groups := given[[]scheduling.PodGroup](t)(p.job.Groups(t.Context()))
	if len(groups) != 1 || groups[0].Spec.MinMember != 1 || groups[0].Annotations["tephra.sh/expected-runtime"] != "2h" {
		t.Errorf("PodGroups %+v, expected Spark's own with the run time of its pods", groups)
	}
	ok(t, p.job.Ends(t.Context(), ""))
	ok(t, p.job.Runs(t.Context(), 0))
	fill(t, p.job.Cluster, p.job.Namespace, allGPUs)()
}

// Dask's operator makes a scheduler and workers at once, without a PodGroup. Both templates name the group and its minimum.
func TestPlayedDask(t *testing.T) {
	p := play(t)
	annotations := func() map[string]string {
		return map[string]string{scheduling.KubeGroupNameAnnotationKey: "simple", "scheduling.volcano.sh/group-min-member": "4", "scheduling.volcano.sh/queue-name": "research"}
	}
	room := fill(t, p.job.Cluster, p.job.Namespace, allGPUs-12+1)
	p.pod("simple-scheduler", 0, map[string]string{"dask.org/cluster-name": "simple", "dask.org/component": "scheduler"}, annotations(), nil)
	for i := range 3 {
		p.pod(fmt.Sprintf("simple-default-worker-%d", i), 4, map[string]string{"dask.org/cluster-name": "simple", "dask.org/component": "worker"}, annotations(), nil)
	}
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if bound := given[int](t)(p.job.Bound(t.Context())); bound != 0 {
			t.Fatalf("%d pods have nodes, expected none: there is no room for all", bound)
		}
	}
	room()
	ok(t, p.job.Runs(t.Context(), 4))
	groups := given[[]scheduling.PodGroup](t)(p.job.Groups(t.Context()))
	if len(groups) != 1 || groups[0].Name != "simple" || groups[0].Spec.MinMember != 4 || groups[0].Spec.Queue != "research" {
		t.Errorf("PodGroups %+v, expected one named simple with a minimum of 4", groups)
	}
	ok(t, p.job.Ends(t.Context(), ""))
	ok(t, p.job.Runs(t.Context(), 0))
	fill(t, p.job.Cluster, p.job.Namespace, allGPUs)()
}

// A JobSet whose workers start after its driver: the driver's group has a minimum of one, and no pod waits for later pods.
func TestALeaderThatStartsFirstIsNoDeadlock(t *testing.T) {
	p := play(t)
	p.job.Resource, p.job.Name = resourceOf("jobset.x-k8s.io", "v1alpha2", "jobsets"), "led"
	const template = "{metadata: {annotations: {scheduling.volcano.sh/queue-name: research}}, spec: {schedulerName: volcano, restartPolicy: Never, containers: [{name: main, image: none, resources: {limits: {cpu: 1}}}]}}"
	_, err := p.job.Cluster.Kubectl(t.Context(), `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: led}, spec: {startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [
		{name: driver, template: {spec: {template: `+template+`}}},
		{name: worker, replicas: 3, template: {spec: {template: `+template+`}}}]}}`, "apply", "-n", p.job.Namespace, "-f", "-")
	ok(t, err)
	ok(t, p.job.Runs(t.Context(), 4))
	groups := given[[]scheduling.PodGroup](t)(p.job.Groups(t.Context()))
	if len(groups) != 1 || groups[0].Spec.MinMember != 1 {
		t.Errorf("PodGroups %+v, expected one with a minimum of 1", groups)
	}
	ok(t, p.job.Delete(t.Context()))
	ok(t, p.job.Runs(t.Context(), 0))
}
