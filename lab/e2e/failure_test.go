package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// events of the scheduler about itself with that reason; Kubernetes counts repetitions in one object.
func events(t *testing.T, c *e2e.Cluster, reason string) (count int) {
	t.Helper()
	list, err := c.Kube.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	ok(t, err)
	for _, event := range list.Items {
		count += max(int(event.Count), 1)
		if event.Series != nil {
			count += int(event.Series.Count) - 1
		}
	}
	return count
}

func metric(t *testing.T, s *e2e.Scheduler, name string) float64 {
	t.Helper()
	return given[float64](t)(s.Metric(t.Context(), name))
}

func unready(ctx context.Context, s *e2e.Scheduler, because string) error {
	return e2e.Until(ctx, func(ctx context.Context) error {
		code, text, err := s.Get(ctx, "/readyz")
		if err == nil && (code != http.StatusServiceUnavailable || !strings.Contains(text, because)) {
			err = fmt.Errorf("/readyz: %d %q, expected 503 with %q", code, text, because)
		}
		return err
	})
}

// instead starts other schedulers than the shared one, which comes back at the end of the test.
func instead(t *testing.T, c *e2e.Cluster, others ...*e2e.Scheduler) {
	t.Helper()
	c.Scheduler.Stop()
	t.Cleanup(func() {
		for _, other := range others {
			other.Kill()
		}
		ok(t, c.Scheduler.Restart(context.Background()))
	})
	for _, other := range others {
		ok(t, other.Start(t.Context()))
	}
}

func TestWithoutItsEngineNothingIsScheduledUntilItIsBack(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "before").Task("worker", 4, e2e.GPUs(4)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "before", batch.Running))
	syncs, gone, back := metric(t, c.Scheduler, "tephra_scheduler_full_syncs"), events(t, c, "EngineUnreachable"), events(t, c, "EngineReachable")
	c.Engine.Kill()
	t.Cleanup(func() {
		if !c.Engine.Alive() {
			ok(t, c.Engine.Start(context.Background()))
		}
	})
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "meanwhile").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, unready(t.Context(), c.Scheduler, "engine"))
	if up := metric(t, c.Scheduler, "tephra_scheduler_engine_up"); up != 0 {
		t.Errorf("tephra_scheduler_engine_up %g, expected 0", up)
	}
	failures := metric(t, c.Scheduler, "tephra_scheduler_engine_failures_total")
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		if now, err := c.Scheduler.Metric(ctx, "tephra_scheduler_engine_failures_total"); err != nil || now < failures+2 {
			return fmt.Errorf("%g failed cycles, expected %g (%w)", now, failures+2, err)
		}
		return nil
	}))
	if pods := given[[]core.Pod](t)(c.Pods(t.Context(), ns, "meanwhile")); len(pods) > 0 {
		t.Errorf("%d pods without an engine, expected none", len(pods))
	}
	if said := events(t, c, "EngineUnreachable"); said != gone+1 {
		t.Errorf("%d events EngineUnreachable in one outage, expected 1", said-gone)
	}
	ok(t, c.Engine.Start(t.Context()))
	ok(t, c.JobReaches(t.Context(), ns, "meanwhile", batch.Running))
	ok(t, c.Scheduler.IsReady(t.Context()))
	if now := metric(t, c.Scheduler, "tephra_scheduler_full_syncs"); now != syncs+1 {
		t.Errorf("%g full syncs, expected one", now-syncs)
	}
	ok(t, e2e.Until(t.Context(), func(context.Context) error {
		if said := events(t, c, "EngineReachable"); said != back+1 {
			return fmt.Errorf("%d events EngineReachable, expected 1", said-back)
		}
		return nil
	}))
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
}

func TestStockActionsScheduleWhileTheEngineIsGoneIfAskedTo(t *testing.T) {
	c, ns := on(t)
	engine := given[*e2e.Engine](t)(c.NewEngine("late-engine", ""))
	t.Cleanup(engine.Kill)
	other := given[*e2e.Scheduler](t)(c.NewScheduler("falls-back", engine, "--when-engine-gone=stock"))
	instead(t, c, other)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "stock").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "stock", batch.Running))
	for _, pod := range given[[]core.Pod](t)(c.Pods(t.Context(), ns, "stock")) {
		if slices := pod.Annotations[e2e.SlicesKey]; slices != "" {
			t.Errorf("pod %s: slices %s without an engine", pod.Name, slices)
		}
	}
	ok(t, engine.Start(t.Context()))
	ok(t, other.IsReady(t.Context()))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "engine").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "engine", batch.Running))
	for _, pod := range given[[]core.Pod](t)(c.Pods(t.Context(), ns, "engine")) {
		given[[]e2e.Slice](t)(e2e.SlicesOf(&pod))
	}
}

func TestAnotherSchedulerTakesOverWhenTheLeaderDies(t *testing.T) {
	c, ns := on(t)
	election := []string{"--leader-elect=true", "--leader-elect-lease-duration=2s",
		"--leader-elect-renew-deadline=1500ms", "--leader-elect-retry-period=300ms"}
	first := given[*e2e.Scheduler](t)(c.NewScheduler("first", c.Engine, election...))
	second := given[*e2e.Scheduler](t)(c.NewScheduler("second", c.Engine, election...))
	instead(t, c, first, second)
	t.Cleanup(func() {
		_ = c.Kube.CoordinationV1().Leases(e2e.Namespace).Delete(context.Background(), "tephra-scheduler", metav1.DeleteOptions{})
	})
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "before").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "before", batch.Running))
	// Both are ready: one leads, and the other is ready to take over.
	ok(t, first.IsReady(t.Context()))
	ok(t, second.IsReady(t.Context()))
	leader, next := first, second
	if metric(t, first, "tephra_scheduler_engine_up") != 1 {
		leader, next = second, first
	}
	if up := []float64{metric(t, leader, "tephra_scheduler_engine_up"), metric(t, next, "tephra_scheduler_engine_up")}; up[0] != 1 || up[1] != 0 {
		t.Errorf("tephra_scheduler_engine_up: %v, expected 1 of the scheduler that leads and 0 of the other", up)
	}
	leader.Kill()
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "after").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "after", batch.Running))
	ok(t, next.IsReady(t.Context()))
	if syncs := metric(t, next, "tephra_scheduler_full_syncs"); syncs != 1 {
		t.Errorf("%g full syncs of the new leader, expected one", syncs)
	}
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
}

func TestJobsRunAgainAfterTheAPIServerWasAway(t *testing.T) {
	c, ns := on(t)
	pid := c.Scheduler.Pid()
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "before").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "before", batch.Running))
	ok(t, c.Lab.StopComponent("kube-apiserver"))
	time.Sleep(time.Second) // long enough for watches to break and be tried again
	ok(t, c.Lab.StartComponent(t.Context(), "kube-apiserver"))
	// They too come back by themselves, but after a pause of up to half a minute that is not ours to test.
	for name := range c.Lab.Components() {
		if name != "etcd" && name != "kube-apiserver" {
			ok(t, c.Lab.StopComponent(name))
			ok(t, c.Lab.StartComponent(t.Context(), name))
		}
	}
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error { // a webhook may still be starting
		return c.Submit(ctx, e2e.Job(ns, "after").Task("worker", 16, e2e.GPUs(1)).Object())
	}))
	ok(t, c.JobReaches(t.Context(), ns, "after", batch.Running))
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
	if c.Scheduler.Pid() != pid || !c.Scheduler.Alive() || !c.Engine.Alive() {
		t.Error("the scheduler or the engine ended while the API server was away")
	}
}

func TestTheEngineRefusesASecondSchedulerAndStillAnswersOthers(t *testing.T) {
	c, ns := on(t)
	second := given[*e2e.Scheduler](t)(c.NewScheduler("uninvited", c.Engine))
	t.Cleanup(second.Kill)
	ok(t, second.Start(t.Context()))
	ok(t, unready(t.Context(), second, "engine"))
	ok(t, e2e.Until(t.Context(), func(context.Context) error {
		if !strings.Contains(second.Said(), "AlreadyExists") {
			return fmt.Errorf("its log does not say AlreadyExists:\n%s", second.Tail(10))
		}
		return nil
	}))
	given[string](t)(c.Engine.Tephra(t.Context(), "top"))
	second.Kill()
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 16, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	ok(t, c.Scheduler.IsReady(t.Context()))
}

// forbidBinding lets the API server refuse bindings of that pod, until the function it returns is called.
func forbidBinding(t *testing.T, c *e2e.Cluster, pod string) (allow func()) {
	t.Helper()
	const name = "unbindable.test"
	policies, bindings := c.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(), c.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	refuse := admission.Fail
	_, err := policies.Create(t.Context(), &admission.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admission.ValidatingAdmissionPolicySpec{FailurePolicy: &refuse,
			Validations: []admission.Validation{{Expression: fmt.Sprintf("object.metadata.name != %q", pod)}},
			MatchConstraints: &admission.MatchResources{ResourceRules: []admission.NamedRuleWithOperations{{RuleWithOperations: admission.RuleWithOperations{
				Operations: []admission.OperationType{admission.Create},
				Rule:       admission.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/binding"}}}}}}}}, metav1.CreateOptions{})
	ok(t, err)
	_, err = bindings.Create(t.Context(), &admission.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admission.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admission.ValidationAction{admission.Deny}}}, metav1.CreateOptions{})
	ok(t, err)
	allow = sync.OnceFunc(func() {
		_ = bindings.Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = policies.Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	t.Cleanup(allow)
	probe := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: "default"},
		Spec: core.PodSpec{SchedulerName: "absent", Containers: []core.Container{{Name: "main", Image: "none"}}}}
	pods := c.Kube.CoreV1().Pods("default")
	_, err = pods.Create(t.Context(), probe, metav1.CreateOptions{})
	ok(t, err)
	defer func() { _ = pods.Delete(context.Background(), pod, metav1.DeleteOptions{}) }()
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error { // policies are enforced a moment after they are created
		err := pods.Bind(ctx, &core.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod}, Target: core.ObjectReference{Kind: "Node", Name: "no-such-node"}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), name) {
			return fmt.Errorf("%v, expected the policy to refuse it", err)
		}
		return nil
	}))
	return allow
}

// A gang that cannot be completed does not sit on what it has.
func TestAGangThatTheAPIServerBindsInPartIsUnwoundAndStartsWholeLater(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Engine.Configure("engine: { assume_timeout: 2s }\n"))
	t.Cleanup(func() { ok(t, c.Engine.Configure("engine: { assume_timeout: 30s }\n")) })
	allow := forbidBinding(t, c, "torn-worker-1")
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "torn").Task("worker", 2, e2e.GPUs(8), onNodes("node-0", "node-1")).Object()))
	var first types.UID
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		pods, err := c.Pods(ctx, ns, "torn")
		for _, pod := range pods {
			if pod.Name == "torn-worker-0" && pod.Spec.NodeName != "" && first == "" {
				first = pod.UID
			}
		}
		if err == nil && first == "" {
			err = errors.New("worker 0 is not bound")
		}
		return err
	}))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		pods, err := c.Pods(ctx, ns, "torn")
		for _, pod := range pods {
			if pod.UID == first && pod.DeletionTimestamp == nil {
				err = errors.New("worker 0 holds its GPUs, and the gang has no place for worker 1")
			}
		}
		return err
	}))
	allow()
	ok(t, c.JobReaches(t.Context(), ns, "torn", batch.Running))
}
