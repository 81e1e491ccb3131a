package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
)

// The webhooks of the manifests, on a real API server: a pod that no other scheduler could place is completed
// and runs, a contradiction is refused when it is applied, and other pods are left alone.
func TestPodsAreCompletedAndCheckedWhenTheyAreApplied(t *testing.T) {
	c, namespace := on(t)
	stop := given[func(context.Context) error](t)(c.Admit(t.Context(), namespace))
	t.Cleanup(func() { ok(t, stop(context.Background())) })

	apply := func(object string) error {
		_, err := c.Kubectl(t.Context(), object, "apply", "-n", namespace, "-f", "-")
		return err
	}
	pod := func(name, limits string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: none, resources: {limits: {%s}}}]}}", name, limits)
	}
	ok(t, apply(pod("part", "nvidia.com/gpumem: 4000, nvidia.com/gpucores: 20")))
	ok(t, apply(pod("plain", "cpu: 1")))
	err := e2e.Until(t.Context(), func(ctx context.Context) error {
		part, err := c.Kube.CoreV1().Pods(namespace).Get(ctx, "part", metav1.GetOptions{})
		slots := part.Spec.Containers[0].Resources.Requests["tephra.sh/gpu-slot"]
		if err == nil && (part.Spec.SchedulerName != "volcano" || slots.Value() != 1) {
			return e2e.Final(fmt.Errorf("the pod asks scheduler %q for %s slots", part.Spec.SchedulerName, slots.String()))
		}
		if err == nil && (part.Status.Phase != core.PodRunning || !strings.Contains(part.Annotations["tephra.sh/slices"], `"fraction"`)) {
			err = fmt.Errorf("phase %s, annotations %v", part.Status.Phase, part.Annotations)
		}
		return err
	})
	ok(t, err)
	plain := given[*core.Pod](t)(c.Kube.CoreV1().Pods(namespace).Get(t.Context(), "plain", metav1.GetOptions{}))
	if plain.Spec.SchedulerName != core.DefaultSchedulerName || len(plain.Spec.Containers[0].Resources.Requests) != 1 {
		t.Errorf("a pod without devices was changed: scheduler %q, requests %v", plain.Spec.SchedulerName, plain.Spec.Containers[0].Resources.Requests)
	}

	const sentence = "spec.containers[0].resources.limits[nvidia.com/gpu]: 1, expected none beside volcano.sh/vgpu-number"
	const both = "nvidia.com/gpu: 1, volcano.sh/vgpu-number: 1"
	if err := apply(pod("both", both)); err == nil || !strings.Contains(err.Error(), sentence) {
		t.Errorf("a contradiction in a pod: %v", err)
	}
	job := fmt.Sprintf("{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: j}, spec: {schedulerName: volcano, queue: research, minAvailable: 1, tasks: [{name: a, replicas: 1, "+
		"template: {spec: {containers: [{name: main, image: none, resources: {limits: {%s}}}]}}}]}}", both)
	if err := apply(job); err == nil || !strings.Contains(err.Error(), "spec.tasks[0].template."+sentence) {
		t.Errorf("a contradiction in a Job: %v", err)
	}
}
