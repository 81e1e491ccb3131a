package migrate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"tephra.sh/volcano/admission"
	"tephra.sh/volcano/requests"
)

// Mode is the overlay that the cluster moves to.
type Mode string

const (
	Beside  Mode = "beside"
	Replace Mode = "replace"
)

// scheduler is the name that pods give to Tephra's scheduler.
func (m Mode) scheduler() string {
	if m == Replace {
		return "volcano"
	}
	return "tephra"
}

// Labels and taint of Tephra's nodes.
const (
	gpuNodeLabel   = "tephra.sh/gpu"
	schedulerLabel = "tephra.sh/scheduler"
)

type check struct {
	*Cluster
	mode   Mode
	table  *requests.Table
	reader admission.Options
	report Report

	pods       []corev1.Pod
	namespaces map[string]map[string]string // labels
	nodes      map[string]*node
	workloads  []*workload
}

// Check reads the cluster for a move to the overlay `mode`, with this table of device resources. An error is an object that
// cannot be read.
func Check(cluster *Cluster, mode Mode, table *requests.Table) (*Report, error) {
	c := &check{Cluster: cluster, mode: mode, table: table,
		reader:     admission.Options{SchedulerName: mode.scheduler(), Take: admission.TakeNone, Devices: table},
		report:     Report{Version: 1, Mode: mode, Findings: []Finding{}, Stacks: []Stack{}},
		namespaces: map[string]map[string]string{}, nodes: map[string]*node{}}
	var err error
	if c.pods, err = all[corev1.Pod](cluster, "", "Pod"); err != nil {
		return nil, err
	}
	namespaces, err := all[corev1.Namespace](cluster, "", "Namespace")
	if err != nil {
		return nil, err
	}
	for i := range namespaces {
		c.namespaces[namespaces[i].Name] = namespaces[i].Labels
	}
	for _, part := range []func() error{c.readNodes, c.readWorkloads, c.checkNodes, c.checkWorkloads, c.checkBudgets,
		c.checkDaemonSets, c.checkWebhooks, c.checkSettings, c.checkQueues} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	c.report.finish()
	return &c.report, nil
}

func (c *check) say(status Status, kind string, object metav1.Object, what, do string) {
	c.report.Findings = append(c.report.Findings, Finding{status, kind, object.GetNamespace(), object.GetName(), what, do})
}

// live: the pod has a node and has not ended.
func live(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// requestsGPUs: a container has a resource of GPUs, or the pod an annotation that requests a part of one.
func (c *check) requestsGPUs(pod *corev1.Pod) bool {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for _, amounts := range []corev1.ResourceList{list[i].Resources.Limits, list[i].Resources.Requests} {
				for name, amount := range amounts {
					if role, _ := c.table.Role(name); role != requests.Foreign && !amount.IsZero() {
						return true
					}
				}
			}
		}
	}
	return c.annotated(pod) != ""
}

// annotated is the annotation of the pod that requests a part of a GPU; empty: none does.
func (c *check) annotated(pod *corev1.Pod) string {
	for _, vendor := range c.table.Vendors {
		for _, language := range vendor.AnnotationLanguages {
			for _, key := range []string{language.Fraction, language.Memory} {
				if _, given := pod.Annotations[key]; given {
					return key
				}
			}
		}
	}
	return ""
}

// checkBudgets names the budgets that would stop a drain.
func (c *check) checkBudgets() error {
	budgets, err := all[policyv1.PodDisruptionBudget](c.Cluster, "policy", "PodDisruptionBudget")
	if err != nil {
		return err
	}
	moving := map[string][]*corev1.Pod{}
	for _, w := range c.workloads {
		for _, pod := range w.pods {
			moving[pod.Namespace] = append(moving[pod.Namespace], pod)
		}
	}
	for i := range budgets {
		budget := &budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			return fmt.Errorf("PodDisruptionBudget %s/%s: spec.selector: %w", budget.Namespace, budget.Name, err)
		}
		covered := 0
		for _, pod := range moving[budget.Namespace] {
			if selector.Matches(labels.Set(pod.Labels)) {
				covered++
			}
		}
		if covered > 0 && budget.Status.DisruptionsAllowed <= 0 {
			c.say(Block, "PodDisruptionBudget", budget,
				fmt.Sprintf("allows 0 evictions; it selects %d pods with GPUs, so a drain of their nodes does not end", covered),
				"raise maxUnavailable, or lower minAvailable, until every drain has ended")
		}
	}
	return nil
}
