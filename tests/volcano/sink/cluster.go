// Package sink runs sessions of Volcano's real scheduler cache where the API server would be: its
// informers are fed from memory, and what the scheduler sends is taken and counted.
//
// What was sent changes nothing until Settle, which does what an API server and kubelets would: a
// bound pod runs, an evicted one is gone. So a session can be timed without its consequences, and
// what a cluster looks like after one is the caller's to say.
//
// Volcano keeps its options, metrics and plugins in variables of its own, so one process has one
// cluster at a time; a cluster that was stopped leaves goroutines of Volcano's cache behind.
package sink

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers the stock actions
	schedcache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	_ "volcano.sh/volcano/pkg/scheduler/plugins" // and plugins

	"tephra.sh/volcano/facts"
)

// SchedulerName is the scheduler that pods have to name.
const SchedulerName = "volcano"

// settleWithin bounds the wait for a cache to see what is there, against a hang.
const settleWithin = 2 * time.Minute

// Cluster is a scheduler's cache, the facts that are read beside it, and what it sent.
type Cluster struct {
	Cache *schedcache.SchedulerCache
	Feed  *facts.Feed // nil: the cluster has none
	*Sent

	server  *server
	volcano vcinformers.SharedInformerFactory // the facts' own, as in the scheduler
	stop    chan struct{}
}

func init() { metrics.InitKubeSchedulerRelatedMetrics() }

// New prepares a cluster without objects, and without facts where no options for them are given.
// Nothing runs yet.
func New(options *facts.Options) (*Cluster, error) {
	disableWatchList()
	c := &Cluster{Sent: &Sent{}, stop: make(chan struct{})}
	c.Sent.clear()
	c.Cache = schedcache.NewCustomMockSchedulerCache(SchedulerName, (*binder)(c.Sent), (*evictor)(c.Sent),
		(*statusUpdater)(c.Sent), nil, &record.FakeRecorder{})
	c.server = newServer(c.Cache)
	c.volcano = vcinformers.NewSharedInformerFactory(c.Cache.VCClient(), 0)
	if options == nil {
		return c, nil
	}
	theirs := *options
	theirs.SchedulerNames = []string{SchedulerName}
	var err error
	c.Feed, err = facts.New(facts.Sources{Kube: c.Kube(), Volcano: c.volcano}, theirs)
	return c, err
}

// Kube is the informer factory that the scheduler's cache uses.
func (c *Cluster) Kube() informers.SharedInformerFactory { return c.Cache.SharedInformerFactory() }

// Add puts objects on the API server, or replaces those of the same name. After Start it returns
// once the scheduler's cache has seen them.
func (c *Cluster) Add(objects ...runtime.Object) error {
	for _, object := range objects {
		if err := c.server.put(object); err != nil {
			return err
		}
	}
	return c.wait()
}

// Put is Add that does not wait for the scheduler's cache.
func (c *Cluster) Put(objects ...runtime.Object) error {
	for _, object := range objects {
		if err := c.server.put(object); err != nil {
			return err
		}
	}
	return nil
}

// Take is Delete that does not wait.
func (c *Cluster) Take(objects ...runtime.Object) error {
	for _, object := range objects {
		if err := c.server.remove(object); err != nil {
			return err
		}
	}
	return nil
}

// Delete takes objects off the API server.
func (c *Cluster) Delete(objects ...runtime.Object) error {
	for _, object := range objects {
		if err := c.server.remove(object); err != nil {
			return err
		}
	}
	return c.wait()
}

// Start runs the informers and returns once the cache and the facts have everything.
func (c *Cluster) Start() error {
	c.volcano.Start(c.stop)
	c.Cache.Run(c.stop)
	c.volcano.WaitForCacheSync(c.stop)
	c.server.started = true
	return c.wait()
}

// Stop ends the informers.
func (c *Cluster) Stop() { close(c.stop) }

func (c *Cluster) wait() error {
	if !c.server.started {
		return nil
	}
	for deadline := time.Now().Add(settleWithin); ; time.Sleep(5 * time.Millisecond) {
		unseen := c.unseen()
		if unseen == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %s", settleWithin, unseen)
		}
	}
}

// unseen says what the scheduler does not know yet; empty: it knows everything.
func (c *Cluster) unseen() string {
	if !c.server.watched() {
		return "informers do not watch yet"
	}
	if c.Feed != nil && !c.Feed.Synced() {
		return "the facts have not synced"
	}
	c.Cache.Lock()
	defer c.Cache.Unlock()
	return c.server.unseenBy(c.Cache)
}
