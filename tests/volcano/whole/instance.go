package whole

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/scheduler/actions" // registers the stock actions
	"volcano.sh/volcano/pkg/scheduler/api"
	schedcache "volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	_ "volcano.sh/volcano/pkg/scheduler/plugins" // and plugins
	vcutil "volcano.sh/volcano/pkg/util"

	"tephra.sh/volcano/scheduler"
)

// instances is how many schedulers run, of which one leads.
const instances = 2

const schedulerName = "volcano"

func init() {
	metrics.InitKubeSchedulerRelatedMetrics()
	schedcache.RegisterBindMethod(binder{})
	// The second handler sleeps for as long as the last error of the process is ahead, which was of another clock.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
}

// binder is Volcano's own, for the client that it is given: Volcano keeps one binder for all caches of a process.
type binder struct{}

// Bind implements schedcache.Binder.
func (binder) Bind(kube kubernetes.Interface, tasks []*api.TaskInfo) map[api.TaskID]string {
	return schedcache.NewDefaultBinder(kube, nil).Bind(kube, tasks)
}

// instance is a pod of the scheduler, which the kubelet starts again when it ends.
type instance struct {
	world  *World
	number int
	starts int
	client *client // of the process that runs; nil: none does
	stop   context.CancelFunc
}

func (i *instance) config(c *client) *rest.Config {
	return &rest.Config{Host: "http://server", Transport: c, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON}}
}

// start begins a process. REQUIRES: the lock is held.
func (i *instance) start() {
	if i.client != nil {
		return
	}
	i.starts++
	c := &client{world: i.world, number: i.number, name: fmt.Sprintf("scheduler-%d", i.number)}
	ctx, stop := context.WithCancel(context.Background())
	i.client, i.stop = c, stop
	i.world.note("%s starts", c.name)
	go func() {
		err := i.run(ctx, c)
		w := i.world
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if c.dead || w.ended {
			return
		}
		w.note("%s ends: %v", c.name, err)
		i.crash()
		w.after(w.between(c.name+" starts again", time.Second, 3*time.Second), i.start)
	}()
}

// crash kills the process. REQUIRES: the lock is held.
func (i *instance) crash() {
	if i.client == nil {
		return
	}
	i.world.note("%s is gone", i.client.name)
	i.client.dead = true
	if e := i.world.engines.of[i.number]; e.holder != nil && e.holder.client == i.client {
		e.holder.finish(errors.New("the scheduler is gone"))
	}
	i.stop()
	i.client = nil
}

// run is what the program's main function does.
func (i *instance) run(ctx context.Context, c *client) error {
	opt := options.NewServerOption()
	opt.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	vcutil.LeaderElectionDefault(&opt.LeaderElection)
	opt.LeaderElection.ResourceName = "volcano"
	opt.SchedulerNames, opt.NodeWorkerThreads = []string{schedulerName}, 1
	opt.RegisterOptions()
	w := i.world
	own := scheduler.Options{Client: c.name, EngineTimeout: 30 * time.Second, Admit: true, MinInterval: 50 * time.Millisecond, Gather: time.Millisecond,
		MemoryConfigMap: "tephra-memory",
		Around: scheduler.Around{
			Engine: calls{engine: w.engines.of[i.number], client: c},
			Busy:   func() time.Duration { return 0 },
			Clock: func() time.Time {
				w.mutex.Lock()
				defer w.mutex.Unlock()
				if f := w.active(ClockJump, i.number); f != nil {
					return time.Now().Add(time.Duration(f.Value%7200-3600) * time.Second)
				}
				return time.Now()
			},
			// The processes of Volcano's cache and ours learn of one change at one instant, in an order that nothing
			// here decides; the session comes after both.
			Change: func(openSession func()) {
				w.mutex.Lock()
				defer w.mutex.Unlock()
				w.after(w.between(c.name+" session", 100*time.Microsecond, 2*time.Millisecond), openSession)
			},
		}}
	lease, err := scheduler.NewLease(opt)
	if err != nil {
		return err
	}
	own.LeaseTerm = lease.Term
	config := i.config(c)
	s, err := scheduler.New(lease.Guard(config), opt, own)
	if err != nil {
		return err
	}
	go s.Follow(ctx)
	return scheduler.Lead(ctx, config, opt, lease, s.Run)
}
