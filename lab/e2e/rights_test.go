package e2e_test

import (
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

const someSlices = `{"version":1,"containers":[{"name":"main","slices":[{"index":0,"mode":"whole","compute":1000,"memoryMiB":1}]}]}`

// Even the administrator is refused: what a pod may use of a GPU is the scheduler's to say.
func TestOnlyTheSchedulerSetsAPodsSlices(t *testing.T) {
	c, ns := on(t)
	refused := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), e2e.SlicesKey) {
			t.Errorf("%s: %v, expected to be forbidden because of %s", what, err, e2e.SlicesKey)
		}
	}
	pods := c.Kube.CoreV1().Pods(ns)
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Annotations: map[string]string{e2e.SlicesKey: someSlices}},
		Spec:       core.PodSpec{SchedulerName: "absent", Containers: []core.Container{{Name: "main", Image: "none"}}},
	}
	_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	refused("create", err)
	pod.Annotations = nil
	_, err = pods.Create(t.Context(), pod, metav1.CreateOptions{})
	ok(t, err)
	binding := &core.Binding{ObjectMeta: metav1.ObjectMeta{Name: "mine", Annotations: map[string]string{e2e.SlicesKey: someSlices}},
		Target: core.ObjectReference{Kind: "Node", Name: "node-0"}}
	refused("bind", pods.Bind(t.Context(), binding, metav1.CreateOptions{}))
	patch := []byte(`{"metadata":{"annotations":{"` + e2e.SlicesKey + `":"{}"}}}`)
	_, err = pods.Patch(t.Context(), "mine", types.MergePatchType, patch, metav1.PatchOptions{})
	refused("patch", err)

	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 1, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	remove := []byte(`{"metadata":{"annotations":{"` + e2e.SlicesKey + `":null}}}`)
	_, err = pods.Patch(t.Context(), "train-worker-0", types.MergePatchType, remove, metav1.PatchOptions{})
	refused("remove", err)
}

func TestOnlyTheSchedulerReservesRoom(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 1, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	group := given[*scheduling.PodGroup](t)(c.Group(t.Context(), ns, "train"))
	for _, key := range []string{reservedRoom, "tephra.sh/evictions"} {
		refused := func(what string, err error) {
			t.Helper()
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v, expected to be forbidden because of %s", what, err, key)
			}
		}
		patch := []byte(`{"metadata":{"annotations":{"` + key + `":"1"}}}`)
		_, err := c.Volcano.SchedulingV1beta1().PodGroups(ns).Patch(t.Context(), group.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		refused("patch", err)
		refused("submit", c.Submit(t.Context(), e2e.Job(ns, "sly").With(func(job *batch.Job) {
			job.Annotations = map[string]string{key: "1"}
		}).Task("worker", 1, e2e.GPUs(1)).Object()))
	}
}
