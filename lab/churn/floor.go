package churn

import (
	"bytes"
	"context"
	"fmt"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// bindAll binds each pod as soon as it is there, to the next of the nodes. No scheduler that decides can be faster.
func bindAll(ctx context.Context, group *errgroup.Group, config *rest.Config, nodes []string) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
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
	targets := make(chan string)
	group.Go(func() error {
		for i := 0; ; i++ {
			select {
			case targets <- nodes[i%len(nodes)]:
			case <-ctx.Done():
				return nil
			}
		}
	})
	for range 16 {
		group.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case name := <-waiting:
					bind := &core.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: core.ObjectReference{Kind: "Node", Name: <-targets}}
					if err := pods.Bind(ctx, bind, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
						return fmt.Errorf("pod %s: %w", name, err)
					}
				}
			}
		})
	}
	return nil
}

// writes are the numbers of writes that the API server has answered, by resource and verb, such as "pods/binding POST".
func writes(ctx context.Context, config *rest.Config) (map[string]float64, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("metrics of the API server: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("metrics of the API server: %w", err)
	}
	counts := map[string]float64{}
	for _, metric := range families["apiserver_request_total"].GetMetric() {
		labels := map[string]string{}
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		what := labels["resource"]
		if sub := labels["subresource"]; sub != "" {
			what += "/" + sub
		}
		switch verb := labels["verb"]; verb {
		case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
			counts[what+" "+verb] += metric.GetCounter().GetValue()
		}
	}
	return counts, nil
}
