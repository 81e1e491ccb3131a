// Package scheduler runs Volcano's framework with the action "tephra" in it: Volcano's cache, its
// sessions, and whatever actions and plugins its configuration file names.
//
// It stands where volcano.sh/volcano/pkg/scheduler would, for two reasons: it needs the cache's
// informers before the first session, and it opens a session when something has changed instead of
// once a second.
package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	schedcache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/action"
	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/grouping"
	"tephra.sh/volcano/memory"
	"tephra.sh/volcano/probes"
	"tephra.sh/volcano/provisioning"
	"tephra.sh/volcano/requests"
	pb "tephra.sh/volcano/tephrav1"
	"tephra.sh/volcano/view"
)

// Options beyond Volcano's own.
type Options struct {
	EngineSocket  string
	Around        Around
	EngineTimeout time.Duration
	Client        string // name and version, for the engine's logs
	// LeaseTerm, if set, is the term of the leader election lease, by which the engine knows the newest of two schedulers.
	LeaseTerm func() uint64
	// FallBack schedules with Volcano's stock actions while the engine does not answer.
	FallBack bool
	// Admit lets the engine decide which groups may have pods; otherwise the stock action "enqueue"
	// does, and has to be in the configuration.
	Admit bool
	// DomainLabels are keys of node labels that say which nodes are near each other, from the widest to
	// the nearest, for nodes that are in no HyperNode.
	DomainLabels []string
	// GPUTopologyLabel is the label of nodes that may say "default": which of its GPUs are well linked is
	// not looked at there.
	GPUTopologyLabel string
	// MinInterval passes between the starts of two sessions of the whole cluster at least.
	MinInterval time.Duration
	// WholeSessions, if set, opens a session of the whole cluster each time. Otherwise a session shows what a plan is about,
	// where the configuration allows it.
	WholeSessions bool
	// Gather is how long changes are gathered before a plan is asked for, where sessions need not be of the whole cluster.
	Gather time.Duration
	// WedgedAfter is how long a session may run before Healthy is an error.
	WedgedAfter time.Duration
	// MemoryConfigMap keeps what the engine remembers, in the scheduler's namespace; empty: nothing does.
	MemoryConfigMap string
	// DeviceResources is how pods ask for devices; nil: requests.Default.
	DeviceResources *requests.Table
	// SliceKeys sign what the scheduler says of pods; nil: nothing is signed.
	SliceKeys *annotations.Keys
	// ProvisioningClass is the class of the ProvisioningRequests of gangs that wait for nodes, and ProvisioningDelay how long they
	// wait first; empty: there are no requests.
	ProvisioningClass string
	ProvisioningDelay time.Duration
	// PodGroups makes PodGroups where the framework of a job makes none.
	PodGroups bool
}

// Around is what is around the process, for a simulation of it. The zero value: the real thing.
type Around struct {
	Engine pb.EngineServiceClient   // instead of the socket
	Clock  func() time.Time         // the wall clock that the engine follows
	Busy   func() time.Duration     // the processor time that the process has used
	Change func(openSession func()) // an informer has something new, and a session has to open
}

// Scheduler is one scheduler process; it runs sessions only while it leads.
type Scheduler struct {
	cache    schedcache.Cache
	view     *view.Cache // nil: all sessions are of the whole cluster
	volcano  vcinformers.SharedInformerFactory
	feed     *facts.Feed
	action   *action.Action
	memory   *memory.Store
	conf     *configuration
	wake     chan struct{}
	period   time.Duration
	interval time.Duration
	gather   time.Duration
	busy     func() time.Duration
	work     probes.Work         // the session that runs
	asker    *provisioning.Asker // nil: nodes are not requested
	wedged   time.Duration
	keeper   *grouping.Keeper // nil: PodGroups are not made
	leads    chan struct{}    // closed once Run has begun
	stoodBy  chan struct{}    // closed when Follow has left the feed to Run
}

// localVolumes is the provisioner that classes of local volumes name. They are attached to nothing, but
// Volcano's cache counts them against the attachments of a node unless configured otherwise.
const localVolumes = "kubernetes.io/no-provisioner"

// forgetPeriod is the time after which a standby forgets what only a leader would report.
const forgetPeriod = 10 * time.Second

// provisioningPeriod is the time between two looks at the gangs that wait for nodes.
const provisioningPeriod = 2 * time.Second

// over is a scheduler on the cache, without feed, action and configuration.
func over(cache schedcache.Cache, opt *options.ServerOption, own Options) *Scheduler {
	s := &Scheduler{
		cache:    cache,
		wake:     make(chan struct{}, 1),
		period:   opt.SchedulePeriod,
		interval: own.MinInterval,
		gather:   own.Gather,
		busy:     busy,
		wedged:   own.WedgedAfter,
		leads:    make(chan struct{}),
		stoodBy:  make(chan struct{}),
	}
	if ours, is := cache.(*schedcache.SchedulerCache); is && !own.WholeSessions {
		s.view = view.New(ours)
	}
	return s
}

// Loop runs the cycles of a scheduler on a cache that runs already, until the context ends. Changed gets the function that
// the feed has to call.
func Loop(ctx context.Context, cache schedcache.Cache, act *action.Action, opt *options.ServerOption, own Options,
	changed func(func())) error {
	s := over(cache, opt, own)
	s.action = act
	framework.RegisterAction(act)
	var err error
	if s.conf, err = loadConfiguration(opt); err != nil {
		return err
	}
	changed(s.changed)
	s.loop(ctx)
	return nil
}

// New prepares a scheduler of the cluster that config names. Nothing runs yet.
func New(config *rest.Config, opt *options.ServerOption, own Options) (*Scheduler, error) {
	s := over(schedcache.New(config, opt.SchedulerNames, opt.DefaultQueue, opt.NodeSelector, opt.NodeWorkerThreads,
		append(opt.IgnoredCSIProvisioners, localVolumes), opt.ResyncPeriod, opt.ResourceSyncTimeout), opt, own)
	changed := s.changed
	if around := own.Around; around.Change != nil {
		changed, s.busy = func() { around.Change(s.changed) }, around.Busy
	}
	if ours, is := s.cache.(*schedcache.SchedulerCache); is {
		ours.Evictor = &evictor{s.cache.Client(), s.cache.EventRecorder()}
	}
	s.volcano = vcinformers.NewSharedInformerFactory(s.cache.VCClient(), opt.ResyncPeriod)
	var err error
	s.feed, err = facts.New(facts.Sources{Kube: s.cache.SharedInformerFactory(), Volcano: s.volcano},
		facts.Options{SchedulerNames: opt.SchedulerNames, Admit: own.Admit, DomainLabels: own.DomainLabels, NodeSelector: opt.NodeSelector, GPUTopologyLabel: own.GPUTopologyLabel, Devices: own.DeviceResources, Keys: own.SliceKeys, Changed: changed})
	if err != nil {
		return nil, err
	}
	self := selfReference(opt)
	s.memory = &memory.Store{}
	if own.MemoryConfigMap != "" {
		s.memory = memory.New(s.cache.Client(), ownNamespace(opt), own.MemoryConfigMap, s.cache.EventRecorder(), self)
	}
	actionOptions := action.Options{EngineSocket: own.EngineSocket, Engine: own.Around.Engine, Clock: own.Around.Clock, Client: own.Client, LeaseTerm: own.LeaseTerm, Timeout: own.EngineTimeout,
		Memory: s.memory, Recorder: s.cache.EventRecorder(), Self: self}
	if own.FallBack {
		for _, name := range []string{"enqueue", "allocate", "backfill"} {
			stock, found := framework.GetAction(name)
			if !found {
				return nil, fmt.Errorf("stock action %q is not in this build", name)
			}
			actionOptions.Fallback = append(actionOptions.Fallback, stock)
		}
	}
	if s.action, err = action.New(s.feed, actionOptions); err != nil {
		return nil, err
	}
	framework.RegisterAction(s.action)
	if own.ProvisioningClass != "" {
		dynamic, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		s.asker = provisioning.New(provisioning.Options{Class: own.ProvisioningClass, Delay: own.ProvisioningDelay, Period: provisioningPeriod,
			Condition: string(action.ConditionType), Engine: s.action.Engine(), Kube: s.cache.Client(), Dynamic: dynamic,
			Groups: s.volcano.Scheduling().V1beta1().PodGroups().Lister(), Jobs: s.volcano.Batch().V1alpha1().Jobs().Lister(),
			NoPods: func(uid string) bool { job, known := s.feed.Job(uid); return known && !job.HasPods }})
	}
	if own.PodGroups {
		if s.keeper, err = s.newKeeper(config, opt); err != nil {
			return nil, err
		}
	}
	s.conf, err = loadConfiguration(opt)
	return s, err
}

// newKeeper makes what keeps the PodGroups of this scheduler's pods.
func (s *Scheduler) newKeeper(config *rest.Config, opt *options.ServerOption) (*grouping.Keeper, error) {
	dynamic, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return grouping.New(grouping.Options{
		Ours: func(name string) bool { return slices.Contains(opt.SchedulerNames, name) },
		Pods: s.cache.SharedInformerFactory().Core().V1().Pods().Informer(), Groups: s.volcano.Scheduling().V1beta1().PodGroups().Informer(),
		Volcano: s.cache.VCClient(), Dynamic: dynamic, Recorder: s.cache.EventRecorder()})
}

// Healthy is nil while no session runs for too long. A scheduler that does not lead is healthy.
func (s *Scheduler) Healthy() error { return s.work.Within(s.wedged, "the session") }

// Follows is nil once the caches have synced.
func (s *Scheduler) Follows() error {
	if !s.feed.Synced() {
		return fmt.Errorf("the informers have not synced")
	}
	return nil
}

// Ready is nil where a waiting gang would be looked at: the caches have synced and the engine
// answers.
func (s *Scheduler) Ready() error {
	if err := s.Follows(); err != nil {
		return err
	}
	if s.conf.usesEngine() && !s.action.EngineReachable() {
		return fmt.Errorf("the engine does not answer")
	}
	return nil
}

// Follow learns the cluster from the API server until the context ends, and writes nothing. It is called once, before
// Run, in a goroutine of its own. A standby that follows schedules as soon as it leads.
func (s *Scheduler) Follow(ctx context.Context) {
	defer close(s.stoodBy)
	go s.conf.watch(ctx, s.cache.SetMetricsConf)
	s.cache.SetMetricsConf(s.conf.current().metrics)
	s.volcano.Start(ctx.Done())
	s.cache.Run(ctx.Done())
	s.volcano.WaitForCacheSync(ctx.Done())
	for !s.feed.Synced() {
		if !sleep(ctx, 10*time.Millisecond) {
			return
		}
	}
	klog.InfoS("The caches follow the cluster")
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.leads:
			return
		case <-time.After(forgetPeriod):
			s.feed.Forget()
		}
	}
}

// Run schedules until the context ends. It waits for Follow. Call it once.
func (s *Scheduler) Run(ctx context.Context) {
	close(s.leads)
	<-s.stoodBy        // the caches have synced, or the context has ended
	s.memory.Read(ctx) // of the leader before this one, so not earlier
	go s.memory.Run(ctx)
	klog.InfoS("Caches have synced; scheduling begins")
	if s.asker != nil {
		go s.asker.Run(ctx)
	}
	if s.keeper != nil {
		go s.keeper.Run(ctx)
	}
	s.loop(ctx)
	if err := s.action.Close(); err != nil {
		klog.ErrorS(err, "Could not close the connection to the engine")
	}
}
