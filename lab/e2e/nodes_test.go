package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// asNode is what the node's own kubelet may do.
func asNode(t *testing.T, c *e2e.Cluster, name string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + name, Groups: []string{"system:nodes"}}
	return given[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
}

func isReady(node *core.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == core.NodeReady {
			return condition.Status == core.ConditionTrue
		}
	}
	return false
}

// register creates the node as its own kubelet does, and returns when it is ready.
func register(t *testing.T, c *e2e.Cluster, node *core.Node) {
	t.Helper()
	ctx := context.Background() // cleanups call it too
	_, err := asNode(t, c, node.Name).CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	ok(t, err)
	ok(t, e2e.Until(ctx, func(ctx context.Context) error {
		now, err := c.Kube.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err == nil && !isReady(now) {
			err = fmt.Errorf("node %s: not ready", node.Name)
		}
		return err
	}))
}

func TestACordonedNodeGetsNothingUntilItIsUncordoned(t *testing.T) {
	c, ns := on(t)
	given[string](t)(c.Kubectl(t.Context(), "", "cordon", "node-0"))
	t.Cleanup(func() { _, _ = c.Kubectl(context.Background(), "", "uncordon", "node-0") })
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 4, e2e.GPUs(8)).Object()))
	said, err := c.Condition(t.Context(), ns, "train", waits)
	ok(t, err)
	if !strings.Contains(said.Message, "room for 3 tasks") {
		t.Errorf("condition %q, expected room for 3 tasks", said.Message)
	}
	given[string](t)(c.Kubectl(t.Context(), "", "uncordon", "node-0"))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
}

func TestPodsOfADrainedNodeRunElsewhereAndADeletedNodeIsForgotten(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 12, e2e.GPUs(2)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	before := nodesOf(t, c, ns, "train")
	drained := "node-0"
	if before[drained] != 4 {
		t.Fatalf("pods on %v, expected four on %s", before, drained)
	}
	t.Cleanup(func() { _, _ = c.Kubectl(context.Background(), "", "uncordon", drained) })
	given[string](t)(c.Kubectl(t.Context(), "", "drain", drained, "--force", "--timeout=30s"))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		pods, err := c.Pods(ctx, ns, "train")
		if err != nil {
			return err
		}
		running := 0
		for _, pod := range pods {
			if pod.Spec.NodeName != drained && pod.Status.Phase == core.PodRunning {
				running++
			}
		}
		if running != 12 {
			return fmt.Errorf("%d pods run on other nodes than %s, expected 12", running, drained)
		}
		return nil
	}))
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))

	given[string](t)(c.Kubectl(t.Context(), "", "delete", "node", drained))
	t.Cleanup(func() { register(t, c, c.Nodes.Node(0)) })
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		top, err := c.Engine.Tephra(ctx, "top", "nodes")
		if err == nil && (strings.Contains(top, drained) || !strings.Contains(top, "3 nodes, 24 GPUs, 0 of them free")) {
			err = fmt.Errorf("tephra top nodes, expected 3 nodes without a free GPU:\n%s", top)
		}
		return err
	}))
}

func TestPodsOfOtherSchedulersTakeTheirRoom(t *testing.T) {
	c, ns := on(t)
	pod := func(name, scheduler string) *core.Pod {
		job := e2e.Job(ns, name).Task("pod", 1, e2e.GPUs(4)).Object()
		template := job.Spec.Tasks[0].Template
		template.Name, template.Spec.SchedulerName = name, scheduler
		return &core.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	}
	pods := c.Kube.CoreV1().Pods(ns)
	_, err := pods.Create(t.Context(), pod("of-the-default-scheduler", core.DefaultSchedulerName), metav1.CreateOptions{})
	ok(t, err)
	bound := given[*core.Pod](t)(pods.Create(t.Context(), pod("bound-by-hand", "absent"), metav1.CreateOptions{}))
	ok(t, pods.Bind(t.Context(), &core.Binding{ObjectMeta: metav1.ObjectMeta{Name: bound.Name},
		Target: core.ObjectReference{Kind: "Node", Name: "node-1"}}, metav1.CreateOptions{}))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		for _, name := range []string{"of-the-default-scheduler", "bound-by-hand"} {
			if pod, err := pods.Get(ctx, name, metav1.GetOptions{}); err != nil || pod.Status.Phase != core.PodRunning {
				return fmt.Errorf("pod %s: %s (%w), expected Running", name, pod.Status.Phase, err)
			}
		}
		return nil
	}))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "large").Task("worker", 25, e2e.GPUs(1)).Object()))
	said, err := c.Condition(t.Context(), ns, "large", waits)
	ok(t, err)
	if !strings.Contains(said.Message, "24 of 32 GPUs free") {
		t.Errorf("condition %q, expected 24 GPUs free", said.Message)
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "fitting").Task("worker", 24, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "fitting", batch.Running))
}
