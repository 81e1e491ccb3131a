package churn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"tephra.sh/lab/e2e"
)

// FewLogs is a flag for schedulers of large clusters: at level 3, Volcano logs the names of all nodes with each node.
const FewLogs = "-v=2"

// Fill creates so many pods of another scheduler on each node, without a GPU, in a namespace of their own, and returns how
// many there are.
func Fill(ctx context.Context, c *e2e.Cluster, each int) (int, error) {
	client, err := kubernetes.NewForConfig(unlimited(c.Config))
	if err != nil {
		return 0, err
	}
	const space = "runs-already"
	_, err = client.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{})
	if err != nil {
		return 0, err
	}
	var group errgroup.Group
	group.SetLimit(32)
	for n := range c.Nodes.Count {
		for p := range each {
			group.Go(func() error {
				pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d-%d", n, p)},
					Spec: core.PodSpec{SchedulerName: "another", NodeName: c.Nodes.Name(n), Containers: []core.Container{{Name: "main", Image: "none"}}}}
				_, err := client.CoreV1().Pods(space).Create(ctx, pod, metav1.CreateOptions{})
				return err
			})
		}
	}
	return c.Nodes.Count * each, group.Wait()
}

// firstBind tells when the first pod was bound after an instant.
type firstBind struct {
	mutex sync.Mutex
	after time.Time
	at    chan time.Time
}

func (f *firstBind) expect(after time.Time) <-chan time.Time {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.after, f.at = after, make(chan time.Time, 1)
	return f.at
}

func (f *firstBind) seen() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if now := time.Now(); f.at != nil && now.After(f.after) {
		f.at <- now
		f.at = nil
	}
}

// follow watches the pods of the lab's users from now on; `observe` gets each change, too.
func (f *firstBind) follow(ctx context.Context, group *errgroup.Group, c *e2e.Cluster, observe func(pod *core.Pod, gone bool)) error {
	pods, bound := c.Kube.CoreV1().Pods(namespace), map[string]bool{}
	watch, err := follow(ctx, pods, func(ctx context.Context) (metav1.ListInterface, error) {
		return pods.List(ctx, metav1.ListOptions{Limit: 1})
	}, func(pod *core.Pod, gone bool) {
		observe(pod, gone)
		if !gone && pod.Spec.NodeName != "" && !bound[pod.Name] {
			bound[pod.Name] = true
			f.seen()
		}
	})
	if err == nil {
		group.Go(watch)
	}
	return err
}
