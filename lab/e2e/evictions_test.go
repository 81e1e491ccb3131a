package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

const reservedRoom = "tephra.sh/reserved-room"

// past is what became of a namespace's pods and pod groups, each kind in the API server's order.
type past struct {
	mutex sync.Mutex
	turn  int
	last  map[string]*core.Pod // by uid, with pods that are gone
	bound map[string]int       // by uid: in which turn
	gone  map[string]int
	held  map[string]bool // by the name of the Job: at some time its group had reserved room
}

// follow begins to note; it ends with the test.
func follow(t *testing.T, c *e2e.Cluster, namespace string) *past {
	t.Helper()
	p := &past{last: map[string]*core.Pod{}, bound: map[string]int{}, gone: map[string]int{}, held: map[string]bool{}}
	pods := given[watch.Interface](t)(c.Kube.CoreV1().Pods(namespace).Watch(t.Context(), metav1.ListOptions{}))
	groups := given[watch.Interface](t)(c.Volcano.SchedulingV1beta1().PodGroups(namespace).Watch(t.Context(), metav1.ListOptions{}))
	t.Cleanup(pods.Stop)
	t.Cleanup(groups.Stop)
	for _, events := range []<-chan watch.Event{pods.ResultChan(), groups.ResultChan()} {
		go func() {
			for event := range events {
				p.note(event)
			}
		}()
	}
	return p
}

func (p *past) note(event watch.Event) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.turn++
	switch object := event.Object.(type) {
	case *core.Pod:
		uid := string(object.UID)
		p.last[uid] = object
		if p.bound[uid] == 0 && object.Spec.NodeName != "" {
			p.bound[uid] = p.turn
		}
		if event.Type == watch.Deleted {
			p.gone[uid] = p.turn
		}
	case *scheduling.PodGroup:
		if _, held := object.Annotations[reservedRoom]; held {
			p.held[object.OwnerReferences[0].Name] = true
		}
	}
}

func of(pod *core.Pod) string { return pod.Labels[batch.JobNameKey] }

// evicted are the pods that the scheduler evicted, with the reason on each, by the name of the Job.
func (p *past) evicted() map[string][]*core.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	out := map[string][]*core.Pod{}
	for _, pod := range p.last {
		if disrupted(pod) != "" {
			out[of(pod)] = append(out[of(pod)], pod)
		}
	}
	return out
}

func disrupted(pod *core.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == core.DisruptionTarget && condition.Status == core.ConditionTrue {
			return condition.Message
		}
	}
	return ""
}

// boundBeforeGone names a pod of the Job that was bound before all that were evicted had gone.
func (p *past) boundBeforeGone(job string) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for uid, pod := range p.last {
		for victim, dead := range p.last {
			if of(pod) == job && disrupted(dead) != "" && (p.gone[victim] == 0 || p.bound[uid] < p.gone[victim]) {
				return fmt.Sprintf("%s before %s", pod.Name, dead.Name)
			}
		}
	}
	return ""
}

// evictedFor checks that exactly these Jobs lost that many pods to the Job, which says why on each, and
// that its own began only then.
func evictedFor(t *testing.T, c *e2e.Cluster, p *past, job, why string, victims func(job string) bool, pods int) {
	t.Helper()
	evicted := p.evicted()
	count, names := 0, ""
	for from, gone := range evicted {
		count += len(gone)
		names += " " + from
		if !victims(from) {
			t.Errorf("job %s was evicted", from)
		}
		for _, pod := range gone {
			if disrupted(pod) != why {
				t.Errorf("pod %s: condition DisruptionTarget %q, expected %q", pod.Name, disrupted(pod), why)
			}
			ok(t, e2e.Until(t.Context(), func(ctx context.Context) error { return saysWhy(ctx, c, pod, why) }))
		}
	}
	if count != pods {
		t.Errorf("%d pods evicted, of%s; expected %d", count, names, pods)
	}
	if early := p.boundBeforeGone(job); early != "" {
		t.Errorf("bound too early: %s", early)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.held[job] {
		t.Errorf("job %s never had the annotation %s", job, reservedRoom)
	}
}

func saysWhy(ctx context.Context, c *e2e.Cluster, pod *core.Pod, why string) error {
	list, err := c.Kube.CoreV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Evict,involvedObject.uid=" + string(pod.UID)})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 || list.Items[0].Message != why {
		return fmt.Errorf("pod %s: events %+v, expected one with %q", pod.Name, list.Items, why)
	}
	return nil
}

func roomIsNoLongerHeld(t *testing.T, c *e2e.Cluster, namespace, job string) {
	t.Helper()
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		group, err := c.Group(ctx, namespace, job)
		if err == nil && group.Annotations[reservedRoom] != "" {
			err = fmt.Errorf("pod group %s: %s is %s", group.Name, reservedRoom, group.Annotations[reservedRoom])
		}
		return err
	}))
}

func TestAQueueGetsWhatItDeservesByTheFewestEvictions(t *testing.T) {
	c, ns := on(t)
	makeQueue(t, c, "owners", `{"deserved":{"nvidia.com/gpu":"16"}}`)
	makeQueue(t, c, "guests", `{"weight":1}`)
	for i := range 20 {
		name, gpus := fmt.Sprintf("small-%d", i), 1
		if i >= 16 {
			name, gpus = fmt.Sprintf("large-%d", i), 4
		}
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).Queue("guests").Task("worker", 1, e2e.GPUs(gpus)).Object()))
		ok(t, c.JobReaches(t.Context(), ns, name, batch.Running))
	}
	before := metric(t, c.Scheduler, "tephra_scheduler_evicted_tasks_total")
	p := follow(t, c, ns)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "owner").Queue("owners").Task("worker", 2, e2e.GPUs(4)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "owner", batch.Running))

	why := "tephra: evicted for job " + ns + "/owner of queue owners (reclaimed: queue guests holds more than its share)"
	evictedFor(t, c, p, "owner", why, func(job string) bool { return strings.HasPrefix(job, "large-") }, 2)
	roomIsNoLongerHeld(t, c, ns, "owner")
	if evicted := metric(t, c.Scheduler, "tephra_scheduler_evicted_tasks_total") - before; evicted != 2 {
		t.Errorf("tephra_scheduler_evicted_tasks_total rose by %v, expected 2", evicted)
	}
	ok(t, e2e.GivenTwice(everyPod(t, c), c.Nodes.GPUMemoryMiB))
	// What was evicted waits, and its group counts it.
	for job := range p.evicted() {
		group := given[*scheduling.PodGroup](t)(c.Group(t.Context(), ns, job))
		if count := group.Annotations["tephra.sh/evictions"]; count != "1" {
			t.Errorf("pod group %s: tephra.sh/evictions %q, expected 1", group.Name, count)
		}
		_, err := c.Condition(t.Context(), ns, job, waits)
		ok(t, err)
	}
}

func TestAJobOfHigherPriorityPreemptsInItsOwnQueue(t *testing.T) {
	c, ns := on(t)
	for i := range 4 {
		name := fmt.Sprintf("low-%d", i)
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).Priority("low").Task("worker", 2, e2e.GPUs(4)).Object()))
		ok(t, c.JobReaches(t.Context(), ns, name, batch.Running))
	}
	p := follow(t, c, ns)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "urgent").Priority("high").Task("worker", 4, e2e.GPUs(2)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "urgent", batch.Running))

	// A gang that loses one of its two pods can do nothing with the other.
	why := "tephra: evicted for job " + ns + "/urgent of queue research (preempted: it has a higher priority)"
	evictedFor(t, c, p, "urgent", why, func(job string) bool { return strings.HasPrefix(job, "low-") }, 2)
	if gangs := len(p.evicted()); gangs != 1 {
		t.Errorf("%d gangs lost pods, expected one", gangs)
	}
	roomIsNoLongerHeld(t, c, ns, "urgent")
}

func TestAJobThatIsNotPreemptibleStays(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "kept").Priority("low").Stays().Task("worker", 4, e2e.GPUs(8)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "kept", batch.Running))
	p := follow(t, c, ns)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "urgent").Priority("high").Task("worker", 1, e2e.GPUs(1)).Object()))
	_, err := c.Condition(t.Context(), ns, "urgent", waits)
	ok(t, err)
	if evicted := p.evicted(); len(evicted) > 0 {
		t.Errorf("evicted: %v", evicted)
	}
}

// goesSlowly keeps the pods, once deleted, until the function that it returns is called: a played
// kubelet knows no grace period.
func goesSlowly(t *testing.T, c *e2e.Cluster, namespace string) func() {
	t.Helper()
	mark := func(ctx context.Context, finalizers string) error {
		pods, err := c.Pods(ctx, namespace, "")
		for i := range pods {
			if err == nil {
				_, err = c.Kube.CoreV1().Pods(namespace).Patch(ctx, pods[i].Name, types.MergePatchType,
					[]byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
			}
		}
		return err
	}
	ok(t, mark(t.Context(), `["e2e.tephra.sh/slowly"]`))
	end := func() { _ = mark(context.Background(), `null`) }
	t.Cleanup(end)
	return end
}

func TestRoomStaysReservedWhenEngineAndSchedulerRestartInAGracePeriod(t *testing.T) {
	c, ns := on(t)
	for i := range 4 {
		name := fmt.Sprintf("low-%d", i)
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).Priority("low").Task("worker", 1, e2e.GPUs(8)).Object()))
		ok(t, c.JobReaches(t.Context(), ns, name, batch.Running))
	}
	goOn := goesSlowly(t, c, ns)
	p := follow(t, c, ns)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "urgent").Priority("normal").Task("worker", 1, e2e.GPUs(8)).Object()))
	said, err := c.Condition(t.Context(), ns, "urgent", func(condition scheduling.PodGroupCondition) bool {
		return condition.Reason == "WaitsForEvictions"
	})
	ok(t, err)
	if !strings.HasPrefix(said.Message, "waits for evictions: ") {
		t.Errorf("condition %q", said.Message)
	}
	room := ""
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		pods, err := c.Pods(ctx, ns, "urgent")
		for _, gone := range p.evicted() {
			room = gone[0].Spec.NodeName
		}
		if err == nil && (room == "" || len(pods) == 0) {
			err = fmt.Errorf("evicted %v, pods of urgent %v, expected one of each", p.evicted(), pods)
		}
		return err
	}))
	// A process that restarts finds a job that comes before the job that the room is for.
	c.Scheduler.Kill()
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "rival").Priority("high").Task("worker", 1, e2e.GPUs(8)).Object()))
	ok(t, c.Engine.Restart(t.Context()))
	ok(t, c.Scheduler.Restart(t.Context()))
	_, err = c.Condition(t.Context(), ns, "rival", waits)
	ok(t, err)
	goOn()
	for _, job := range []string{"urgent", "rival"} {
		ok(t, c.JobReaches(t.Context(), ns, job, batch.Running))
		roomIsNoLongerHeld(t, c, ns, job)
	}
	if nodes := nodesOf(t, c, ns, "urgent"); nodes[room] != 1 {
		t.Errorf("urgent is on %v, expected on %s, which was reserved for it", nodes, room)
	}
	for _, job := range []string{"urgent", "rival"} {
		lost := 0
		for _, gone := range p.evicted() {
			for _, pod := range gone {
				if strings.Contains(disrupted(pod), "for job "+ns+"/"+job+" ") {
					lost++
				}
			}
		}
		if lost != 1 {
			t.Errorf("%d pods evicted for %s, expected one", lost, job)
		}
	}
}
