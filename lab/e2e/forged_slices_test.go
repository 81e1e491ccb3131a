package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// Slices that the scheduler did not sign take no GPU from anyone, even if no policy of the API server refuses them.
func TestFaultForgedSlices(t *testing.T) {
	c, ns := on(t)
	pods := c.Kube.CoreV1().Pods(ns)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "honest").Task("worker", 1, e2e.GPUs(1), onNodes("node-0")).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "honest", batch.Running))
	honest := given[*core.Pod](t)(pods.Get(t.Context(), "honest-worker-0", metav1.GetOptions{}))
	if honest.Annotations[e2e.SignatureKey] == "" {
		t.Fatalf("annotations %v, expected a signature", honest.Annotations)
	}
	forgery := func(name string, signature string) *core.Pod {
		var slices []string
		for i := range 8 {
			slices = append(slices, fmt.Sprintf(`{"index":%d,"mode":"whole","compute":1000,"memoryMiB":0}`, i))
		}
		return &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			e2e.SlicesKey:    `{"version":1,"containers":[{"name":"a","slices":[` + strings.Join(slices, ",") + `]}]}`,
			e2e.SignatureKey: signature}},
			Spec: core.PodSpec{SchedulerName: "another", NodeName: "node-1", TerminationGracePeriodSeconds: new(int64),
				Containers: []core.Container{{Name: "a", Image: "none"}}}}
	}
	_, err := pods.Create(t.Context(), forgery("refused", ""), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "tephra.sh/slices") {
		t.Errorf("%v, expected the policy to refuse it", err)
	}

	without(t, c, "slices.tephra.sh")
	for name, signature := range map[string]string{"unsigned": "", "copied": honest.Annotations[e2e.SignatureKey]} {
		ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
			_, err := pods.Create(ctx, forgery(name, signature), metav1.CreateOptions{})
			return err
		}))
		reported(t, c, "Pod", name, e2e.SignatureKey)
	}
	// All of the node's GPUs are free, so a gang that needs them all starts there.
	whole := e2e.Job(ns, "whole-node").Task("worker", 8, e2e.GPUs(1), onNodes("node-1")).Object()
	ok(t, c.Submit(t.Context(), whole))
	ok(t, c.JobReaches(t.Context(), ns, "whole-node", batch.Running))

	// What a pod has stays the pod's, whatever its owner writes later.
	patch := []byte(`{"metadata":{"annotations":{"tephra.sh/slices":null,"tephra.sh/queue":"production","tephra.sh/slices-signature":null}}}`)
	_, err = pods.Patch(t.Context(), honest.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	ok(t, err)
	reported(t, c, "Pod", honest.Name, e2e.SignatureKey)
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		held, err := gpusOf(ctx, c)
		if err == nil && (held["research"] != 9 || held["production"] != 0) {
			err = fmt.Errorf("GPUs by queue %v, expected 9 of research", held)
		}
		return err
	}))
	seven := e2e.Job(ns, "rest").Task("worker", 7, e2e.GPUs(1), onNodes("node-0")).Object()
	ok(t, c.Submit(t.Context(), seven))
	ok(t, c.JobReaches(t.Context(), ns, "rest", batch.Running))
	for _, pod := range given[[]core.Pod](t)(c.Pods(t.Context(), ns, "rest")) {
		for _, slice := range given[[]e2e.Slice](t)(e2e.SlicesOf(&pod)) {
			if mine := given[[]e2e.Slice](t)(e2e.SlicesOf(honest)); slice.Index == mine[0].Index {
				t.Errorf("pod %s has GPU %d, which the running pod has", pod.Name, slice.Index)
			}
		}
	}
}
