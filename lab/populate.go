package lab

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	volcanoscheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topology "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

// populate creates what a new cluster's administrator would, and waits until all of it is in use.
func (l *Lab) populate(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(l.Config)
	if err != nil {
		return err
	}
	volcanoClient, err := volcano.NewForConfig(l.Config)
	if err != nil {
		return err
	}
	l.say(fmt.Sprintf("creating %d nodes in %d racks, %d GPUs each", l.options.Nodes.Count, l.options.Nodes.Racks, l.options.Nodes.GPUs))
	if err := l.createNodes(ctx, client); err != nil {
		return err
	}
	if err := createNamespace(ctx, client, "volcano-system"); err != nil {
		return err
	}
	for _, class := range l.options.PriorityClasses {
		object := &scheduling.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class.Name}, Value: class.Value}
		if _, err := client.SchedulingV1().PriorityClasses().Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("priority class %q: %w", class.Name, err)
		}
	}
	if l.options.Admission {
		if err := listening(ctx, l.ports.admission); err != nil {
			return fmt.Errorf("volcano-admission: %w", err)
		}
	}
	l.say("creating queues and racks")
	if err := l.createQueues(ctx, volcanoClient); err != nil {
		return err
	}
	if err := l.createHyperNodes(ctx, volcanoClient); err != nil {
		return err
	}
	return l.settled(ctx, client, volcanoClient)
}

func (l *Lab) createNodes(ctx context.Context, client kubernetes.Interface) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	for i := range l.options.Nodes.Count {
		group.Go(func() error {
			node := l.options.Nodes.Node(i)
			_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("node %q: %w", node.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func createNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	namespace := &core.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	return err
}

// createQueues makes root and default as Volcano's scheduler would at its first start, then the rest.
func (l *Lab) createQueues(ctx context.Context, client volcano.Interface) error {
	all := []*volcanoscheduling.Queue{queue("root", 1, false), queue("default", 1, true)}
	for _, one := range l.options.Queues {
		all = append(all, queue(one.Name, one.Weight, true))
	}
	for _, one := range all {
		// The webhook looks the parent up in a cache of its own, which may lag a moment behind.
		err := until(ctx, func(ctx context.Context) error {
			_, err := client.SchedulingV1beta1().Queues().Create(ctx, one, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) { // a stock scheduler was faster
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("queue %q: %w", one.Name, err)
		}
	}
	return nil
}

func queue(name string, weight int32, reclaimable bool) *volcanoscheduling.Queue {
	return &volcanoscheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       volcanoscheduling.QueueSpec{Weight: weight, Reclaimable: &reclaimable},
	}
}

// createHyperNodes makes one of tier 1 for each rack, and one of tier 2 that joins them.
func (l *Lab) createHyperNodes(ctx context.Context, client volcano.Interface) error {
	if l.options.Nodes.Count == 0 {
		return nil
	}
	row := &topology.HyperNode{ObjectMeta: metav1.ObjectMeta{Name: "row-0"}, Spec: topology.HyperNodeSpec{Tier: 2, TierName: "row"}}
	all := []*topology.HyperNode{}
	for i := range l.options.Nodes.Racks {
		name := RackName(i)
		nodes := topology.MemberSelector{LabelMatch: &metav1.LabelSelector{MatchLabels: map[string]string{RackLabel: name}}}
		all = append(all, &topology.HyperNode{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: topology.HyperNodeSpec{
				Tier: 1, TierName: "rack",
				Members: []topology.MemberSpec{{Type: topology.MemberTypeNode, Selector: nodes}},
			},
		})
		rack := topology.MemberSelector{ExactMatch: &topology.ExactMatch{Name: name}}
		row.Spec.Members = append(row.Spec.Members, topology.MemberSpec{Type: topology.MemberTypeHyperNode, Selector: rack})
	}
	for _, one := range append(all, row) {
		if _, err := client.TopologyV1alpha1().HyperNodes().Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("hypernode %q: %w", one.Name, err)
		}
	}
	return nil
}

// settled returns when the controllers have taken all of it up: a Job submitted now is served.
func (l *Lab) settled(ctx context.Context, client kubernetes.Interface, volcanoClient volcano.Interface) error {
	return until(ctx, func(ctx context.Context) error {
		if l.options.ServiceAccountTokens {
			if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
				return err
			}
		}
		queues, err := volcanoClient.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, one := range queues.Items {
			if one.Status.State != volcanoscheduling.QueueStateOpen {
				return fmt.Errorf("queue %q: state %q, expected Open", one.Name, one.Status.State)
			}
		}
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		for i := range nodes.Items {
			if !nodeReady(&nodes.Items[i]) {
				return fmt.Errorf("node %q: not Ready", nodes.Items[i].Name)
			}
		}
		return nil
	})
}

func nodeReady(node *core.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == core.NodeReady {
			return condition.Status == core.ConditionTrue
		}
	}
	return false
}
