package facts

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
	vcfake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
)

// apiServer puts objects where informers find them.
type apiServer struct {
	t       *testing.T
	kube    kubernetes.Interface
	volcano vcclient.Interface
}

type client[T any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// store replaces an object of another uid as the API server would: it goes before the other comes.
func store[T metav1.Object](t *testing.T, to client[T], object, before T, known bool) {
	t.Helper()
	ctx := context.Background()
	if known && before.GetUID() != object.GetUID() {
		if err := to.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := to.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = to.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s apiServer) put(object any) {
	ctx, get := context.Background(), metav1.GetOptions{}
	switch o := object.(type) {
	case *corev1.Node:
		store(s.t, s.kube.CoreV1().Nodes(), o, nil, false)
	case *corev1.Pod:
		before, err := s.kube.CoreV1().Pods(o.Namespace).Get(ctx, o.Name, get)
		store(s.t, s.kube.CoreV1().Pods(o.Namespace), o, before, err == nil)
	case *schedulingv1.PriorityClass:
		store(s.t, s.kube.SchedulingV1().PriorityClasses(), o, nil, false)
	case *schedulingv1beta1.Queue:
		store(s.t, s.volcano.SchedulingV1beta1().Queues(), o, nil, false)
	case *topologyv1alpha1.HyperNode:
		store(s.t, s.volcano.TopologyV1alpha1().HyperNodes(), o, nil, false)
	case *policyv1.PodDisruptionBudget:
		store(s.t, s.kube.PolicyV1().PodDisruptionBudgets(o.Namespace), o, nil, false)
	case *batchv1alpha1.Job:
		store(s.t, s.volcano.BatchV1alpha1().Jobs(o.Namespace), o, nil, false)
	case *schedulingv1beta1.PodGroup:
		before, err := s.volcano.SchedulingV1beta1().PodGroups(o.Namespace).Get(ctx, o.Name, get)
		store(s.t, s.volcano.SchedulingV1beta1().PodGroups(o.Namespace), o, before, err == nil)
	}
}

func (s apiServer) remove(object any) {
	ctx, now := context.Background(), metav1.DeleteOptions{}
	var err error
	switch o := object.(type) {
	case *corev1.Node:
		err = s.kube.CoreV1().Nodes().Delete(ctx, o.Name, now)
	case *corev1.Pod:
		err = s.kube.CoreV1().Pods(o.Namespace).Delete(ctx, o.Name, now)
	case *schedulingv1.PriorityClass:
		err = s.kube.SchedulingV1().PriorityClasses().Delete(ctx, o.Name, now)
	case *schedulingv1beta1.Queue:
		err = s.volcano.SchedulingV1beta1().Queues().Delete(ctx, o.Name, now)
	case *topologyv1alpha1.HyperNode:
		err = s.volcano.TopologyV1alpha1().HyperNodes().Delete(ctx, o.Name, now)
	case *policyv1.PodDisruptionBudget:
		err = s.kube.PolicyV1().PodDisruptionBudgets(o.Namespace).Delete(ctx, o.Name, now)
	case *batchv1alpha1.Job:
		err = s.volcano.BatchV1alpha1().Jobs(o.Namespace).Delete(ctx, o.Name, now)
	case *schedulingv1beta1.PodGroup:
		err = s.volcano.SchedulingV1beta1().PodGroups(o.Namespace).Delete(ctx, o.Name, now)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func same(stored, put any) bool { return equality.Semantic.DeepEqual(stored, put) }

// caughtUp: the feed has seen what the history did last to each object.
func caughtUp(f *Feed, h *history) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, node := range h.nodes {
		if n := f.nodes[name]; n == nil || !same(n.obj, node) {
			return false
		}
	}
	for _, n := range f.nodes {
		if n.obj != nil && h.nodes[n.name] == nil {
			return false
		}
	}
	for _, pod := range h.pods {
		if p := f.pods[string(pod.UID)]; p == nil || !same(p.obj, pod) {
			return false
		}
	}
	for name, queue := range h.queues {
		if f.queues[name] == nil || !same(f.queues[name].obj, queue) {
			return false
		}
	}
	for name, job := range h.jobs {
		if !same(f.jobs["team/"+name], job) {
			return false
		}
	}
	for _, group := range h.groups {
		if g := f.groupsOf[string(group.UID)]; g == nil || !same(g.obj, group) {
			return false
		}
	}
	for name, prio := range h.prios {
		if !same(f.priorities[name], prio) {
			return false
		}
	}
	for name, hyper := range h.hypers {
		if f.domains[name] == nil || !same(f.domains[name].obj, hyper) {
			return false
		}
	}
	for name, pdb := range h.pdbs {
		if b := f.budgets["team"][name]; b == nil || !same(b.obj, pdb) {
			return false
		}
	}
	standIns := 0
	for _, g := range f.groupsOf {
		if standsIn(g.obj) {
			standIns++
		}
	}
	return len(f.domains) == len(h.hypers) && len(f.budgets["team"]) == len(h.pdbs) && len(f.pods) == len(h.pods) && len(f.queues) == len(h.queues) && len(f.jobs) == len(h.jobs) &&
		len(f.groupsOf)-standIns == len(h.groups) && len(f.priorities) == len(h.prios)
}

func TestInformersFeedWhatAddsUpToASync(t *testing.T) {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, false) // the fakes cannot
	for seed := range uint64(5) {
		server := apiServer{t, fake.NewSimpleClientset(), vcfake.NewSimpleClientset()}
		sources := Sources{informers.NewSharedInformerFactory(server.kube, 0),
			vcinformers.NewSharedInformerFactory(server.volcano, 0)}
		options := Options{SchedulerNames: []string{ourScheduler}, Admit: true, DomainLabels: []string{"row", "slot"}}
		feed, err := New(sources, options)
		if err != nil {
			t.Fatal(err)
		}
		h := newHistory(seed)
		for range 50 {
			h.step(server)
		}
		ctx, stop := context.WithCancel(context.Background())
		sources.Kube.Start(ctx.Done())
		sources.Volcano.Start(ctx.Done())
		until(t, feed.Synced)
		drained := newModel()
		if err := drained.apply(feed.Sync()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range 100 {
			h.step(server)
			if h.IntN(4) > 0 {
				continue
			}
			if err := drained.apply(feed.Drain()); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
		until(t, func() bool { return caughtUp(feed, h) })
		if err := drained.apply(feed.Drain()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := difference(drained.lines(), wholeModel(t, feed).lines()); diff != "" {
			t.Fatalf("seed %d: drained (-) and synced (+) differ:\n%s", seed, diff)
		}
		fresh := wholeModel(t, h.freshFeed(t, options))
		if diff := difference(comparison(drained, drained, fresh, feed), comparison(fresh, drained, fresh, feed)); diff != "" {
			t.Fatalf("seed %d: drained (-) and of a fresh feed (+) differ:\n%s", seed, diff)
		}
		stop()
		sources.Kube.Shutdown()
		sources.Volcano.Shutdown()
	}
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the informers have not caught up in 30 s")
		}
	}
}

func TestAPodThatTookTheNameOfAnotherBetweenTwoListsReplacesIt(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setGroup(someGroup("g", 1))
	before := somePod("p", "g", on("n1"))
	feed.setPod(before)
	after := somePod("p", "g")
	after.UID = "pod-again"
	handle(feed, feed.setPod, feed.dropPod).OnUpdate(before, after)
	m := wholeModel(t, feed)
	if len(m.tasks) != 1 || m.tasks["pod-again"] == nil {
		t.Errorf("tasks %v, expected the pod that is there now", m.tasks)
	}
}
