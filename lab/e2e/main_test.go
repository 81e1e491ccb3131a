package e2e_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab"
	"tephra.sh/lab/e2e"
)

// One cluster serves most tests, one after the other: each has a namespace of its own and leaves
// nodes and queues as it found them.
var shared struct {
	sync.Once
	cluster *e2e.Cluster
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster != nil {
		if fault := beyondItsRights(shared.cluster); fault != "" {
			fmt.Println(fault)
			code = 1
		}
		shared.cluster.Stop()
	}
	os.Exit(code)
}

// beyondItsRights says what the scheduler requested during all tests that its roles do not grant. The other half, that it
// uses each of its rights, is a test of tests/manifests.
func beyondItsRights(c *e2e.Cluster) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	beyond, requests, err := c.Beyond(ctx)
	switch {
	case err != nil:
		return fmt.Sprintf("audit log: %v", err)
	case requests == 0:
		return "audit log: no request of the scheduler, expected some"
	case len(beyond) > 0:
		return fmt.Sprintf("the scheduler requested %v, which no rule of manifests/base/rbac.yaml grants", beyond)
	}
	return ""
}

// on gives the shared cluster, four nodes of eight GPUs, and a new namespace on it that is emptied at
// the end of the test; what went on there is printed if the test fails.
func on(t *testing.T) (*e2e.Cluster, string) {
	t.Helper()
	shared.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		shared.cluster, shared.err = e2e.Start(ctx, e2e.Options{Audit: true, Lab: func(o *lab.Options) { o.KubeScheduler = true }})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	c := shared.cluster
	select {
	case err := <-c.Lab.Failed():
		t.Fatal(err)
	default:
	}
	namespace := namespaceFor(t.Name())
	ok(t, c.MakeNamespace(t.Context(), namespace))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s%s", c.Story(context.Background(), namespace), c.Logs())
		}
		if err := c.Clear(context.Background(), namespace); err != nil {
			t.Error(err)
		}
	})
	return c, namespace
}

var notInAName = regexp.MustCompile(`[^a-z0-9]+`)

// namespaceFor keeps the end of the name, where one part of a test differs from the next.
func namespaceFor(test string) string {
	name := notInAName.ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-")
	return strings.Trim(name[max(0, len(name)-60):], "-")
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func given[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		ok(t, err)
		return value
	}
}

// everyPod of the cluster.
func everyPod(t *testing.T, c *e2e.Cluster) []core.Pod {
	t.Helper()
	return given[*core.PodList](t)(c.Kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})).Items
}

// nodesOf are the nodes that the Job's pods are on, with how many pods on each.
func nodesOf(t *testing.T, c *e2e.Cluster, namespace, job string) map[string]int {
	t.Helper()
	nodes := map[string]int{}
	for _, pod := range given[[]core.Pod](t)(c.Pods(t.Context(), namespace, job)) {
		nodes[pod.Spec.NodeName]++
	}
	return nodes
}
