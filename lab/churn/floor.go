package churn

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// bindAll binds each pod as soon as it is there, to the next of the nodes. No scheduler that decides can be faster.
func bindAll(ctx context.Context, group *errgroup.Group, config *rest.Config, nodes []string) error {
	client, err := kubernetes.NewForConfig(unlimited(config))
	if err != nil {
		return err
	}
	pods := client.CoreV1().Pods(namespace)
	waiting, seen := make(chan string, 1<<17), map[string]bool{}
	watch, err := follow(ctx, pods, func(ctx context.Context) (metav1.ListInterface, error) {
		return pods.List(ctx, metav1.ListOptions{})
	}, func(pod *core.Pod, gone bool) {
		if !gone && pod.Spec.NodeName == "" && !seen[pod.Name] {
			seen[pod.Name] = true
			waiting <- pod.Name
		}
	})
	if err != nil {
		return err
	}
	group.Go(watch)
	var next atomic.Uint64
	eachOf(ctx, group, waiting, func(name string) error {
		node := nodes[next.Add(1)%uint64(len(nodes))]
		bind := &core.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: core.ObjectReference{Kind: "Node", Name: node}}
		if err := pods.Bind(ctx, bind, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("pod %s: %w", name, err)
		}
		return nil
	})
	return nil
}

// unlimited is the configuration of a client that may ask as often as it likes.
func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return config
}

// eachOf does something for each name that comes, for some at a time, until the context ends.
func eachOf(ctx context.Context, group *errgroup.Group, names <-chan string, do func(name string) error) {
	for range 16 {
		group.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case name := <-names:
					if err := do(name); err != nil && ctx.Err() == nil {
						return err
					}
				}
			}
		})
	}
}
