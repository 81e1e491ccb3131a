package view

import (
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/util"
)

// amounts are sums that go up and down without rounding.
type amounts map[corev1.ResourceName]int64

// holding is what one job holds.
type holding struct {
	queue   api.QueueID
	amounts amounts
}

// shares are what the jobs hold, by queue. Sessions of the whole cluster sum it up each time.
type shares struct {
	jobs    map[api.JobID]holding
	own     map[api.QueueID]amounts // of the queue's own jobs
	changed atomic.Bool             // since they were written
	writing atomic.Bool
	claims  bool // some task has claims of devices, which only a session of the whole cluster counts
}

func newShares() *shares {
	return &shares{jobs: map[api.JobID]holding{}, own: map[api.QueueID]amounts{}}
}

func amountsOf(of *api.Resource) amounts {
	out := amounts{corev1.ResourceCPU: int64(of.MilliCPU), corev1.ResourceMemory: int64(of.Memory)}
	for name, amount := range of.ScalarResources {
		out[name] = int64(amount)
	}
	return out
}

func (a amounts) add(other amounts, times int64) {
	for name, amount := range other {
		a[name] += times * amount
	}
}

// resource has what is not zero, and processors and memory in any case, as Volcano's sum has.
func (a amounts) resource() *api.Resource {
	out := api.EmptyResource()
	for name, amount := range a {
		switch {
		case name == corev1.ResourceCPU:
			out.MilliCPU = float64(amount)
		case name == corev1.ResourceMemory:
			out.Memory = float64(amount)
		case amount != 0:
			out.AddScalar(name, float64(amount))
		}
	}
	return out
}

// note takes in what the job holds now; nil: it is gone. REQUIRES: the cache is locked.
func (s *shares) note(id api.JobID, job *api.JobInfo) {
	before, known := s.jobs[id]
	var now holding
	if job != nil && job.PodGroup != nil {
		now = holding{job.Queue, amountsOf(job.Allocated)}
		for _, task := range job.Tasks {
			s.claims = s.claims || len(task.DRAResreq) > 0
		}
	}
	if known && before.queue == now.queue && equality.Semantic.DeepEqual(before.amounts, now.amounts) {
		return
	}
	if known {
		s.own[before.queue].add(before.amounts, -1)
		delete(s.jobs, id)
	}
	if now.amounts != nil {
		if s.own[now.queue] == nil {
			s.own[now.queue] = amounts{}
		}
		s.own[now.queue].add(now.amounts, +1)
		s.jobs[id] = now
	}
	s.changed.Store(true)
}

// Claims: queues' statuses need a session of the whole cluster.
func (c *Cache) Claims() bool { return c.shares.claims && c.shares.changed.Load() }

// SumsWritten: a session of the whole cluster has written the statuses of the queues.
func (c *Cache) SumsWritten() { c.shares.changed.Store(false) }

// mostLevels of the tree of queues are looked at, against queues that are their own parents.
const mostLevels = 64

// WriteQueues writes what queues hold where that has changed, in the background.
func (c *Cache) WriteQueues() {
	if !c.shares.changed.Load() || c.shares.claims || !c.shares.writing.CompareAndSwap(false, true) {
		return
	}
	c.shares.changed.Store(false)
	sums := map[api.QueueID]amounts{}
	c.Lock()
	for id, own := range c.shares.own {
		for at, level := id, 0; level < mostLevels; level++ {
			if sums[at] == nil {
				sums[at] = amounts{}
			}
			sums[at].add(own, +1)
			queue := c.Queues[at]
			if queue == nil || at == "root" || c.Queues["root"] == nil {
				break
			}
			if at = "root"; queue.Queue.Spec.Parent != "" {
				at = api.QueueID(queue.Queue.Spec.Parent)
			}
		}
	}
	var due []*api.QueueInfo
	for id, queue := range c.Queues {
		holds := util.ConvertRes2ResList(sums[id].resource())
		if equality.Semantic.DeepEqual(queue.Queue.Status.Allocated, holds) {
			continue
		}
		written := queue.Clone()
		written.Queue = queue.Queue.DeepCopy()
		written.Queue.Status.Allocated = holds
		due = append(due, written)
	}
	c.Unlock()
	go func() {
		defer c.shares.writing.Store(false)
		for _, queue := range due {
			if err := c.SchedulerCache.UpdateQueueStatus(queue); err != nil {
				klog.V(2).InfoS("Could not write what a queue holds; the next write tries again", "queue", queue.Name, "err", err)
				c.shares.changed.Store(true)
			}
		}
	}()
}
