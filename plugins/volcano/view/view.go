// Package view makes sessions of Volcano that know only the jobs and nodes that a plan is about. Volcano's plugins,
// Statements and job updater then work as in a session of the whole cluster, which clones every object.
package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"volcano.sh/volcano/pkg/scheduler/api"
	schedcache "volcano.sh/volcano/pkg/scheduler/cache"

	"tephra.sh/volcano/facts"
)

// Names are what the next session shows. Names that the cache does not know are left out.
type Names struct {
	Jobs    map[api.JobID]bool
	Nodes   map[string]bool
	Victims map[api.JobID][]string // pods by uid, whose nodes are shown too
}

// NewNames are none.
func NewNames() Names {
	return Names{map[api.JobID]bool{}, map[string]bool{}, map[api.JobID][]string{}}
}

// Cache is Volcano's cache. One goroutine opens sessions on it, one at a time.
type Cache struct {
	*schedcache.SchedulerCache
	show   Names
	shares *shares

	mutex  sync.Mutex
	failed map[api.JobID]bool // whose status was not written
}

// New is a view of the cache.
func New(of *schedcache.SchedulerCache) *Cache {
	return &Cache{SchedulerCache: of, shares: newShares(), failed: map[api.JobID]bool{}}
}

// Show says what the next session shows.
func (c *Cache) Show(names Names) { c.show = names }

// Snapshot implements schedcache.Cache. It shows what the cache's own Snapshot would show of the names, and no domains:
// the engine chose the nodes.
func (c *Cache) Snapshot() *api.ClusterInfo {
	out := &api.ClusterInfo{
		Nodes: map[string]*api.NodeInfo{}, Jobs: map[api.JobID]*api.JobInfo{}, Queues: map[api.QueueID]*api.QueueInfo{},
		NamespaceInfo: map[api.NamespaceName]*api.NamespaceInfo{}, RevocableNodes: map[string]*api.NodeInfo{},
		CSINodesStatus: map[string]*api.CSINodeStatusInfo{}, HyperNodes: map[string]*api.HyperNodeInfo{},
		HyperNodesSetByTier: map[int]sets.Set[string]{}, RealNodesSet: map[string]sets.Set[string]{},
	}
	c.Lock()
	defer c.Unlock()
	nodes := maps.Clone(c.show.Nodes)
	for id, pods := range c.show.Victims {
		for _, uid := range pods {
			if job := c.Jobs[id]; job != nil && job.Tasks[api.TaskID(uid)] != nil {
				nodes[job.Tasks[api.TaskID(uid)].NodeName] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node := c.Nodes[name]
		if node == nil || !node.Ready() {
			continue
		}
		node.RefreshNumaSchedulerInfoByCrd()
		out.Nodes[name] = node.Clone()
		out.NodeList = append(out.NodeList, name)
		if node.RevocableZone != "" {
			out.RevocableNodes[name] = out.Nodes[name]
		}
	}
	for id := range c.show.Jobs {
		c.shares.note(id, c.Jobs[id])
		if shown := c.clone(id, out.Queues); shown != nil {
			out.Jobs[id] = shown
		}
	}
	return out
}

// clone is the job as a session shows it, whose queue it adds; nil: sessions leave it out. REQUIRES: the cache is locked.
func (c *Cache) clone(id api.JobID, queues map[api.QueueID]*api.QueueInfo) *api.JobInfo {
	job := c.Jobs[id]
	if job == nil || job.PodGroup == nil || c.Queues[job.Queue] == nil {
		return nil
	}
	if queues[job.Queue] == nil {
		// A session writes what its jobs hold into its queues when it closes. These are copies, which nothing reads.
		queue := c.Queues[job.Queue].Clone()
		queue.Queue = queue.Queue.DeepCopy()
		queues[job.Queue] = queue
	}
	job.Priority = c.defaultPriority()
	if class, found := c.PriorityClasses[job.PodGroup.Spec.PriorityClassName]; found {
		job.Priority = class.Value
	}
	return job.Clone()
}

// defaultPriority is what Volcano's cache keeps to itself. REQUIRES: the cache is locked.
func (c *Cache) defaultPriority() int32 {
	for _, class := range c.PriorityClasses {
		if class.GlobalDefault {
			return class.Value
		}
	}
	return 0
}

// InRoot: some of the jobs stand in the queue "root" itself. A session sums up the queue root only with all others.
func (c *Cache) InRoot(jobs map[api.JobID]bool) bool {
	c.Lock()
	defer c.Unlock()
	for id := range jobs {
		if job := c.Jobs[id]; job != nil && job.Queue == "root" {
			return true
		}
	}
	return false
}

// AddBindTask implements schedcache.Cache. The cache's own leaves the binding to a loop that looks every 20 ms.
func (c *Cache) AddBindTask(binding *schedcache.BindContext) error {
	if len(binding.Extensions) > 0 {
		return c.SchedulerCache.AddBindTask(binding) // something goes before the binding, such as a volume
	}
	if err := c.assume(binding.TaskInfo); err != nil {
		return err
	}
	go c.Bind(context.Background(), []*schedcache.BindContext{binding}, nil)
	return nil
}

// assume counts the task on its node, as being bound.
func (c *Cache) assume(placed *api.TaskInfo) error {
	c.Lock()
	defer c.Unlock()
	job := c.Jobs[placed.Job]
	if job == nil || job.Tasks[placed.UID] == nil {
		return fmt.Errorf("task %s/%s: the cache does not have it any more", placed.Namespace, placed.Name)
	}
	task, node := job.Tasks[placed.UID], c.Nodes[placed.NodeName]
	if node == nil {
		return fmt.Errorf("task %s/%s: the cache does not have node %s any more", placed.Namespace, placed.Name, placed.NodeName)
	}
	before := task.Status
	job.UpdateTaskStatus(task, api.Binding)
	err := placed.SetPodResourceDecision()
	if err == nil {
		task.NumaInfo = placed.NumaInfo.Clone()
		err = node.AddTask(task)
	}
	if err != nil {
		job.UpdateTaskStatus(task, before)
	}
	return err
}

// UpdateJobStatus implements schedcache.Cache.
func (c *Cache) UpdateJobStatus(job *api.JobInfo, status, annotations, info bool) (*api.JobInfo, error) {
	out, err := c.SchedulerCache.UpdateJobStatus(job, status, annotations, info)
	if err != nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.failed[job.UID] = true
	}
	return out, err
}

// UpdateQueueStatus implements schedcache.Cache: the session does not know all jobs of the queue.
func (c *Cache) UpdateQueueStatus(*api.QueueInfo) error { return nil }

// Failed are jobs whose status was not written, since the last call.
func (c *Cache) Failed() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var out []string
	for id := range c.failed {
		out = append(out, string(id))
	}
	clear(c.failed)
	slices.Sort(out)
	return out
}

// Statuses are those of the pods, by uid, as far as the cache has them.
func (c *Cache) Statuses(pods map[string]api.JobID) map[string]api.TaskStatus {
	found := make(map[string]api.TaskStatus, len(pods))
	c.Lock()
	defer c.Unlock()
	for uid, id := range pods {
		if job := c.Jobs[id]; job != nil {
			if task := job.Tasks[api.TaskID(uid)]; task != nil {
				found[uid] = task.Status
			}
		}
	}
	return found
}

const (
	awaitFor  = 20 * time.Millisecond
	awaitStep = 200 * time.Microsecond
)

// Await returns once the cache has the jobs with these pods, or after a while: our facts may be a moment ahead of it.
func (c *Cache) Await(pods map[api.JobID][]string) {
	for began := time.Now(); !c.has(pods) && time.Since(began) < awaitFor; {
		time.Sleep(awaitStep)
	}
}

func (c *Cache) has(pods map[api.JobID][]string) bool {
	c.Lock()
	defer c.Unlock()
	for id, uids := range pods {
		job := c.Jobs[id]
		if job == nil || job.PodGroup == nil {
			return false
		}
		for _, uid := range uids {
			if job.Tasks[api.TaskID(uid)] == nil {
				return false
			}
		}
	}
	return true
}

// Behind are those of the groups that the cache does not know yet as the facts do.
func (c *Cache) Behind(groups map[string]facts.Versions) map[string]bool {
	out := map[string]bool{}
	c.Lock()
	defer c.Unlock()
	for key, versions := range groups {
		if c.behind(c.Jobs[api.JobID(key)], versions) {
			out[key] = true
		}
	}
	return out
}

func (c *Cache) behind(job *api.JobInfo, versions facts.Versions) bool {
	if job == nil {
		return versions.Group != "" || len(versions.Pods) > 0
	}
	if known := job.PodGroup != nil; known != (versions.Group != "") || known && job.PodGroup.ResourceVersion != versions.Group {
		return true
	}
	if len(job.Tasks) != len(versions.Pods) {
		return true
	}
	for uid, task := range job.Tasks {
		// Of a pod that is being bound, the cache takes no version that does not say so.
		if task.Status != api.Binding && task.Pod.ResourceVersion != versions.Pods[string(uid)] {
			return true
		}
	}
	return false
}
