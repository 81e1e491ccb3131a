package whole

import (
	"fmt"
	"math/rand"
	"os"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"tephra.sh/tests/volcano/sink"
)

// Result is what came of a run.
type Result struct {
	Seed      uint64
	Broken    []string
	Trace     uint64
	Lines     []string
	Simulated time.Duration
	Binds     int
	Evictions int
	Terms     int
}

// Options of a run.
type Options struct {
	Seed   uint64
	Faults []Fault
	Mutant string
	Keep   bool // what happened, line by line
}

// Run simulates one seed. REQUIRES: it is called in a bubble of testing/synctest; goroutines are left behind.
func Run(process *Process, options Options) Result {
	rand.Seed(int64(options.Seed)) //nolint:staticcheck // client-go's jitter is of this source
	if err := utilfeature.DefaultMutableFeatureGate.Set("WatchListClient=false"); err != nil {
		panic(err)
	}
	w := &World{Seed: options.Seed, Faults: options.Faults, Mutant: options.Mutant, keep: options.Keep,
		began: time.Now(), counts: map[string]uint64{}}
	w.api, w.laws = newAPIServer(w), newLaws(w)
	w.engines = &engines{process: process}
	w.jobs = jobsOf(w)
	for _, f := range w.Faults {
		if f.Kind == DiskFull && w.engines.journal == "" {
			folder, err := os.MkdirTemp("", "tephra-whole-")
			if err != nil {
				panic(err)
			}
			w.engines.journal = folder
			defer os.RemoveAll(folder)
		}
	}
	w.mutex.Lock()
	w.set()
	w.mutex.Unlock()
	for {
		time.Sleep(time.Second)
		w.mutex.Lock()
		over := w.laws.settled() || w.now() > lastFault+mostSettling || len(w.broken) >= 20
		if over {
			break
		}
		w.mutex.Unlock()
	}
	defer w.mutex.Unlock()
	w.laws.final()
	out := Result{Seed: w.Seed, Broken: w.broken, Trace: w.trace, Lines: w.lines, Simulated: w.now(), Binds: w.laws.binds, Evictions: w.laws.evictions, Terms: w.laws.terms}
	w.ended = true
	for _, i := range w.schedulers {
		i.crash()
	}
	for _, e := range w.engines.of {
		e.crash()
	}
	w.engines.fullDisk(false)
	return out
}

// set puts everything in its place. REQUIRES: the lock is held.
func (w *World) set() {
	queue := func(name string, gpus int) {
		q := sink.Queue(name)
		if gpus > 0 {
			q.Spec.Capability = core.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(int64(gpus), resource.DecimalSI)}
		}
		if _, err := w.api.create("queues", q); err != nil {
			panic(err)
		}
	}
	queue(limited, limitGPUs)
	queue("open", 0)
	for n := range nodeCount {
		k := &kubelet{world: w, number: n, name: fmt.Sprintf("node-%d", n), containers: map[types.UID]*container{}}
		w.nodes = append(w.nodes, k)
		if err := k.register(); err != nil {
			panic(err)
		}
	}
	for _, j := range w.jobs {
		w.note("%s: queue %s, %d pods, at least %d, %d per mille of GPUs each, at %.3f s, runs %.1f s", j.name, j.queue, j.pods, j.min, j.perMille(),
			j.at.Seconds(), j.runFor.Seconds())
		w.after(j.at+1, j.tick)
	}
	for n := range instances {
		e := &engine{world: w, number: n}
		w.engines.of = append(w.engines.of, e)
		e.start()
		i := &instance{world: w, number: n}
		w.schedulers = append(w.schedulers, i)
		w.after(w.between("first start", time.Millisecond, 500*time.Millisecond), i.start)
	}
	w.schedule()
}

// leases notes which process writes the lease.
func (c *client) leases(object runtime.Object, err *apierrors.StatusError) *apierrors.StatusError {
	if lease, is := object.(*coordination.Lease); is && err == nil && lease.Spec.HolderIdentity != nil {
		c.world.laws.leads(c, *lease.Spec.HolderIdentity)
	}
	return err
}
