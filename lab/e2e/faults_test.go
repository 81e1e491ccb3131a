package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Each test does to a real control plane what once stopped or cheated the whole cluster, and checks that it now
// concerns its own object alone.

// mostResident is what neither the scheduler nor the engine may take on a cluster of the lab's size, whatever
// one tenant submits: the engine's limit in manifests/base, a quarter of the scheduler's. An idle scheduler takes
// about 80 MiB. TestFaultBigSync leaves it with 500 to 710 MiB: Go frees the garbage when the heap has doubled.
const mostResident = 1 << 30

// resident is the memory of the process, in bytes.
func resident(t *testing.T, p *e2e.Process) int64 {
	t.Helper()
	text := given[[]byte](t)(os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid())))
	pages := given[int64](t)(strconv.ParseInt(strings.Fields(string(text))[1], 10, 64))
	return pages * int64(os.Getpagesize())
}

// unharmed submits a Job of another tenant and waits until it runs; both processes are those of before, are
// bounded, and talk to each other.
func unharmed(t *testing.T, c *e2e.Cluster, namespace, name string) {
	t.Helper()
	ok(t, c.Submit(t.Context(), e2e.Job(namespace, name).Task("worker", 2, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), namespace, name, batch.Running))
	for _, p := range []*e2e.Process{c.Scheduler.Process, c.Engine.Process} {
		if used := resident(t, p); used > mostResident {
			t.Errorf("%s takes %d MiB, expected at most %d", p.Name, used>>20, mostResident>>20)
		}
	}
	if up := metric(t, c.Scheduler, "tephra_scheduler_engine_up"); up != 1 {
		t.Errorf("tephra_scheduler_engine_up %g, expected 1", up)
	}
	ok(t, c.Delete(t.Context(), namespace, name))
}

// afterRestart checks the same with an engine that knows nothing.
func afterRestart(t *testing.T, c *e2e.Cluster, namespace string) {
	t.Helper()
	ok(t, c.Engine.Restart(t.Context()))
	unharmed(t, c, namespace, "after-restart")
}

// amplified is a Job of one task in partitions of one pod, with so many bytes of node affinity.
func amplified(namespace, name string, pods int32, affinity int) *batch.Job {
	job := e2e.Job(namespace, name).Task("w", pods, e2e.GPUs(1), affine(affinity)).AtLeast(1).Object()
	one := int32(1)
	job.Spec.Tasks[0].MinAvailable = &one
	job.Spec.Tasks[0].PartitionPolicy = &batch.PartitionPolicySpec{TotalPartitions: pods, PartitionSize: 1}
	return job
}

// affine asks for no node that has one of as many values as take so many bytes.
func affine(bytes int) e2e.Change {
	return func(pod *core.PodTemplateSpec) {
		var values []string
		for len(values)*63 < bytes {
			values = append(values, fmt.Sprintf("v%062d", len(values)))
		}
		if len(values) == 0 {
			return
		}
		pod.Spec.Affinity = &core.Affinity{NodeAffinity: &core.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &core.NodeSelector{
			NodeSelectorTerms: []core.NodeSelectorTerm{{MatchExpressions: []core.NodeSelectorRequirement{
				{Key: core.LabelHostname, Operator: core.NodeSelectorOpNotIn, Values: values}}}}}}}
	}
}

// refusedBecause waits for the condition of the Job's group, and for the line in the scheduler's log that names the
// Job and the limit.
func refusedBecause(t *testing.T, c *e2e.Cluster, namespace, job, text string) {
	t.Helper()
	condition := given[scheduling.PodGroupCondition](t)(c.Condition(t.Context(), namespace, job, func(found scheduling.PodGroupCondition) bool {
		return found.Status == core.ConditionFalse && strings.Contains(found.Message, text)
	}))
	if condition.Reason != "Unsupported" {
		t.Errorf("condition %+v, expected reason Unsupported", condition)
	}
	says(t, c.Scheduler.Process, namespace+"/"+job, text)
}

func TestFaultPartitionLoop(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), amplified(ns, "loop", 2000000000, 0)))
	refusedBecause(t, c, ns, "loop", "at most 65536 pods in a Job")
	unharmed(t, c, ns, "other")
	afterRestart(t, c, ns)
}

func TestFaultPartitionAmplify(t *testing.T) {
	c, ns := on(t)
	for i, job := range []*batch.Job{amplified(ns, "amplify", 60000, 1400), amplified(ns, "many-roles", 65000, 0)} {
		ok(t, c.Submit(t.Context(), job))
		refusedBecause(t, c, ns, job.Name, "at most 8192 tasks and partitions in a Job")
		unharmed(t, c, ns, fmt.Sprintf("other-%d", i))
	}
	// As many partitions as may be, with templates that are small together and with some that are not.
	ok(t, c.Submit(t.Context(), amplified(ns, "large", 8192, 60000)))
	refusedBecause(t, c, ns, "large", "at most 16777216 bytes")
	allowed := amplified(ns, "allowed", 8192, 1000)
	e2e.GPUs(9)(&allowed.Spec.Tasks[0].Template) // so no pod of it is made
	ok(t, c.Submit(t.Context(), allowed))
	given[scheduling.PodGroupCondition](t)(c.Condition(t.Context(), ns, "allowed", func(found scheduling.PodGroupCondition) bool {
		return found.Reason == "Infeasible"
	}))
	unharmed(t, c, ns, "beside")
	ok(t, c.Volcano.BatchV1alpha1().Jobs(ns).Delete(t.Context(), "allowed", metav1.DeleteOptions{}))
	afterRestart(t, c, ns)
}

func TestFaultBigSync(t *testing.T) {
	c, ns := on(t)
	for i := range 60 {
		job := e2e.Job(ns, fmt.Sprintf("big-%d", i)).Task("w", 1, affine(1200000)).Object()
		term := &job.Spec.Tasks[0].Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
		term.MatchExpressions[0].Key, term.MatchExpressions[0].Operator = fmt.Sprintf("k%d", i), core.NodeSelectorOpIn
		ok(t, c.Submit(t.Context(), job))
	}
	unharmed(t, c, ns, "other")
	ok(t, c.Engine.Restart(t.Context()))
	syncs := metric(t, c.Scheduler, "tephra_scheduler_full_syncs")
	unharmed(t, c, ns, "after-restart")
	if now := metric(t, c.Scheduler, "tephra_scheduler_full_syncs"); now > syncs+1 {
		t.Errorf("%g full syncs after the engine's restart, expected 1", now-syncs)
	}
}

// The engine's answer is lost: the log says what the first cause was.
func TestFaultWrongCause(t *testing.T) {
	c, ns := on(t)
	second := given[*e2e.Scheduler](t)(c.NewScheduler("second-on-one-engine", c.Engine))
	t.Cleanup(second.Kill)
	ok(t, second.Start(t.Context()))
	says(t, second.Process, "The engine does not answer", "holds the stream", "lease term 0")
	unharmed(t, c, ns, "other")
}

func TestFaultQuotaMove(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "holder").Task("worker", 8, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "holder", batch.Running))
	group := given[*scheduling.PodGroup](t)(c.Group(t.Context(), ns, "holder"))
	groups := c.Volcano.SchedulingV1beta1().PodGroups(ns)
	move := func(ctx context.Context) error {
		_, err := groups.Patch(ctx, group.Name, types.MergePatchType, []byte(`{"spec":{"queue":"production"}}`), metav1.PatchOptions{})
		return err
	}
	if err := move(t.Context()); err == nil || !strings.Contains(err.Error(), `spec.queue: "production", expected "research"`) {
		t.Errorf("%v, expected the policy to refuse it", err)
	}

	// Where the policy is not installed, what runs stays charged to its queue.
	without(t, c, "queue.tephra.sh")
	ok(t, e2e.Until(t.Context(), move))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		now, err := groups.Get(ctx, group.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range now.Status.Conditions {
			if condition.Type == "TephraQueueChange" && condition.Status == core.ConditionFalse && strings.Contains(condition.Message, `"production", expected "research"`) {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v, expected TephraQueueChange=False", now.Status.Conditions)
	}))
	charged := func(ctx context.Context) error {
		held, err := gpusOf(ctx, c)
		if err == nil && (held["research"] != 8 || held["production"] != 0) {
			err = fmt.Errorf("GPUs by queue %v, expected 8 of research", held)
		}
		return err
	}
	ok(t, e2e.Until(t.Context(), charged))
	ok(t, c.Engine.Restart(t.Context()))
	ok(t, c.Scheduler.Restart(t.Context()))
	ok(t, e2e.Until(t.Context(), charged))
	says(t, c.Scheduler.Process, ns+"/"+group.Name, "pods of the group were placed in that queue and still hold room")
	unharmed(t, c, ns, "other")
}

// gpusOf are the whole GPUs that each queue's pods hold.
func gpusOf(ctx context.Context, c *e2e.Cluster) (map[string]int64, error) {
	text, err := c.Engine.Tephra(ctx, "top", "queues", "--output", "json")
	if err != nil {
		return nil, err
	}
	var state struct {
		Queues []struct {
			Name string
			Used []struct {
				Kind   int
				Amount json.Number
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	const gpu, perGPU = 3, 1000
	held := map[string]int64{}
	for _, queue := range state.Queues {
		for _, used := range queue.Used {
			if used.Kind == gpu {
				amount, err := used.Amount.Int64()
				if err != nil {
					return nil, err
				}
				held[queue.Name] += amount / perGPU
			}
		}
	}
	return held, nil
}

// without takes the admission policy away until the end of the test.
func without(t *testing.T, c *e2e.Cluster, name string) {
	t.Helper()
	bindings := c.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	policy, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
	ok(t, err)
	ok(t, bindings.Delete(t.Context(), name, metav1.DeleteOptions{}))
	t.Cleanup(func() {
		policy.ResourceVersion, policy.UID = "", ""
		_, err := bindings.Create(context.Background(), policy, metav1.CreateOptions{})
		ok(t, err)
	})
}

const slotResource = "tephra.sh/gpu-slot"

// hoard is a pod without GPUs that asks for slots.
func hoard(name, scheduler, node string, slots int) *core.Pod {
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: core.PodSpec{SchedulerName: scheduler, NodeName: node, TerminationGracePeriodSeconds: new(int64),
		Containers: []core.Container{{Name: "a", Image: "none"}}}}
	template := &core.PodTemplateSpec{Spec: pod.Spec}
	e2e.Limits(map[core.ResourceName]string{slotResource: strconv.Itoa(slots)})(template)
	pod.Spec = template.Spec
	return pod
}

func TestFaultSlotHoard(t *testing.T) {
	c, ns := on(t)
	stop := given[func(context.Context) error](t)(c.Admit(t.Context(), ns))
	pods := c.Kube.CoreV1().Pods(ns)
	for _, pod := range []*core.Pod{hoard("scheduled", "default-scheduler", "", 40), hoard("bound", "volcano", "node-3", 40)} {
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "spec.containers[0].resources.limits["+slotResource+"]: 40, expected none") {
			t.Errorf("%s: %v, expected the webhook to refuse it", pod.Name, err)
		}
	}
	ok(t, stop(t.Context()))

	// Where the webhook is not installed, slots that are gone are not given out again.
	node := strange(t, c, func(node *core.Node) {
		node.Status.Allocatable = node.Status.Allocatable.DeepCopy()
		node.Status.Allocatable[slotResource] = resource.MustParse("80")
		node.Status.Capacity = node.Status.Allocatable
	})
	register(t, c, node)
	for _, pod := range []*core.Pod{hoard("first", "default-scheduler", node.Name, 40), hoard("second", "volcano", node.Name, 39)} {
		ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
			_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
			return err
		}))
		reported(t, c, "Pod", pod.Name, "none in a pod that this scheduler did not place")
	}
	asks := e2e.Limits(map[core.ResourceName]string{e2e.GPU: "1", slotResource: "1"})
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "last-slot").Task("worker", 1, asks, onNodes(node.Name)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "last-slot", batch.Running))
	waitsBecause(t, c, e2e.Job(ns, "no-slot").Task("worker", 1, asks, onNodes(node.Name)), slotResource)
	// Other nodes of the lab have no node plugin, so nothing limits slots there.
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "elsewhere").Task("worker", 1, asks).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "elsewhere", batch.Running))
	unharmed(t, c, ns, "other")
}

// election makes a lease change hands within seconds.
var election = []string{"--leader-elect=true", "--leader-elect-lease-duration=4s",
	"--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms"}

// leads waits until the scheduler leads: a standby is not ready.
func leads(t *testing.T, s *e2e.Scheduler) time.Duration {
	t.Helper()
	began := time.Now()
	ok(t, s.IsReady(t.Context()))
	return time.Since(began)
}

func pause(t *testing.T, p *e2e.Process) {
	t.Helper()
	pid := p.Pid()
	ok(t, syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

// Two schedulers on one engine: the first is paused, the second leads and schedules within seconds, and the first
// writes nothing when it wakes up.
func TestFaultPausedLeader(t *testing.T) {
	c, ns := on(t)
	first := given[*e2e.Scheduler](t)(c.NewScheduler("paused-leader", c.Engine, election...))
	second := given[*e2e.Scheduler](t)(c.NewScheduler("next-leader", c.Engine, election...))
	instead(t, c, first)
	leads(t, first)
	ok(t, second.Start(t.Context()))
	t.Cleanup(second.Kill)
	pause(t, first.Process)
	if took := leads(t, second); took > 15*time.Second {
		t.Errorf("the second scheduler led after %s, expected at most 15 s", took)
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "meanwhile").Task("worker", 4, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "meanwhile", batch.Running))
	woke := time.Now()
	ok(t, syscall.Kill(first.Pid(), syscall.SIGCONT))
	ok(t, e2e.Until(t.Context(), func(context.Context) error {
		if first.Alive() {
			return fmt.Errorf("the paused leader still runs:\n%s", first.Tail(5))
		}
		return nil
	}))
	if took := time.Since(woke); took > 2*time.Second {
		t.Errorf("the paused leader ended %s after it woke up, expected at most 2 s", took)
	}
	says(t, first.Process, "the leader election lease was lost")
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "after").Task("worker", 4, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "after", batch.Running))
}

// The same without leader election, where no lease says which process is newer: the engine closes the connection of a process
// that does not answer its pings.
func TestFaultPausedScheduler(t *testing.T) {
	c, ns := on(t)
	first := given[*e2e.Scheduler](t)(c.NewScheduler("paused", c.Engine))
	second := given[*e2e.Scheduler](t)(c.NewScheduler("newer", c.Engine))
	instead(t, c, first)
	leads(t, first)
	pause(t, first.Process)
	ok(t, second.Start(t.Context()))
	t.Cleanup(second.Kill)
	if took := leads(t, second); took > 20*time.Second {
		t.Errorf("the second scheduler was ready after %s, expected at most 20 s", took)
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "meanwhile").Task("worker", 4, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "meanwhile", batch.Running))
	first.Kill()
}
