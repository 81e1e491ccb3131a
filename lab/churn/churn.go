package churn

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

// Options of a churn.
type Options struct {
	Seed  uint64
	Gangs int
	// MostPods a gang has. The largest one, of pods of eight GPUs, must fit the empty cluster.
	MostPods int32
	// AtOnce is how many gangs there are at a time, running and waiting.
	AtOnce int
	Kills  int
	// GPUMemoryMiB of each device of the cluster.
	GPUMemoryMiB int64
	// Patience is how long nothing may come to pass before the churn is given up.
	Patience time.Duration
	Say      func(format string, values ...any)
}

// Report is what came of a churn.
type Report struct {
	Seed             uint64                 `json:"seed"`
	Seconds          float64                `json:"seconds"`
	Gangs            int                    `json:"gangs"`
	Pods             int                    `json:"pods_bound"`
	Ended            map[batch.JobPhase]int `json:"ended"`
	NotEnded         []string               `json:"not_ended"`
	KilledEngine     int                    `json:"killed_engine"`
	KilledScheduler  int                    `json:"killed_scheduler"`
	Kills            int                    `json:"kills"`
	KillsInPart      int                    `json:"kills_while_a_gang_was_bound_in_part"`
	Faults           []string               `json:"faults"`    // GPUs given twice, pods without theirs
	Undecided        []string               `json:"undecided"` // gangs bound in part for too long
	LongestInPartSec float64                `json:"longest_bound_in_part_s"`
	Engine           Memory                 `json:"engine"`
	Scheduler        Memory                 `json:"scheduler"`
}

// Run plays the users until every gang has ended. An error means that the churn itself broke; what
// the scheduler did wrong is in the report.
func Run(ctx context.Context, cluster *e2e.Cluster, options Options) (*Report, error) {
	random := rand.New(rand.NewPCG(options.Seed, 0))
	gangs := make([]Gang, options.Gangs)
	pods := 0
	for i := range gangs {
		gangs[i] = randomGang(random, i, options.MostPods)
		pods += int(gangs[i].Pods)
	}
	progress := newProgress(NewDevices(options.GPUMemoryMiB))
	killer := newKiller(cluster, progress, random, options.Kills, pods)
	undecided := newUndecided(cluster)
	engine, scheduler := &sampler{process: cluster.Engine.Process}, &sampler{process: cluster.Scheduler.Process}

	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	ctx, done := context.WithCancel(ctx)
	defer done()
	if err := observe(ctx, group, cluster.Config, progress); err != nil {
		return nil, err
	}
	var watching sync.WaitGroup
	watching.Go(func() { engine.run(ctx) })
	watching.Go(func() { scheduler.run(ctx) })
	watching.Go(func() { undecided.run(ctx, progress.boundInPart) })
	group.Go(func() error { return killer.run(ctx) })
	group.Go(func() error {
		defer done()
		return submitAll(ctx, cluster, progress, gangs, options)
	})
	err := group.Wait()
	watching.Wait()

	report := &Report{Seed: options.Seed, Seconds: time.Since(began).Seconds(), Gangs: len(gangs),
		Pods: progress.counts().bound, Ended: map[batch.JobPhase]int{}, NotEnded: progress.unended(), Undecided: []string{},
		KilledEngine: killer.engine, KilledScheduler: killer.scheduler, Kills: options.Kills - len(killer.at), KillsInPart: killer.inPart,
		Faults: append([]string{}, progress.faults...), LongestInPartSec: undecided.longest.Seconds(),
		Engine: engine.memory(), Scheduler: scheduler.memory()}
	for _, phase := range progress.ended {
		report.Ended[phase]++
	}
	for _, name := range slices.Sorted(maps.Keys(undecided.faults)) {
		report.Undecided = append(report.Undecided, undecided.faults[name])
	}
	return report, err
}

// observe tells the progress of every change of pods and Jobs from now on.
func observe(ctx context.Context, group *errgroup.Group, config *rest.Config, to *progress) error {
	cheap := rest.CopyConfig(config) // pods are many, and the machine is not for watching them
	cheap.AcceptContentTypes, cheap.ContentType = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(cheap)
	if err != nil {
		return err
	}
	client, err := volcano.NewForConfig(config)
	if err != nil {
		return err
	}
	pods, jobs := kube.CoreV1().Pods(namespace), client.BatchV1alpha1().Jobs(namespace)
	followPods, err := follow(ctx, pods, func(ctx context.Context) (metav1.ListInterface, error) {
		return pods.List(ctx, metav1.ListOptions{})
	}, to.pod)
	if err != nil {
		return err
	}
	followJobs, err := follow(ctx, jobs, func(ctx context.Context) (metav1.ListInterface, error) {
		return jobs.List(ctx, metav1.ListOptions{})
	}, to.job)
	if err != nil {
		return err
	}
	group.Go(followPods)
	group.Go(followJobs)
	return nil
}

// submitAll keeps AtOnce gangs in the cluster until all have been there, and deletes each when it has
// ended.
func submitAll(ctx context.Context, cluster *e2e.Cluster, progress *progress, gangs []Gang, options Options) error {
	deleted := map[string]bool{}
	last, moved := progress.counts(), time.Now()
	for ctx.Err() == nil {
		now := progress.counts()
		if now != last {
			last, moved = now, time.Now()
		}
		if time.Since(moved) > options.Patience {
			options.Say("nothing came to pass for %s; not ended: %v\n%s", options.Patience, progress.unended(),
				cluster.Story(ctx, namespace))
			return nil
		}
		for now.submitted < len(gangs) && now.submitted-now.ended < options.AtOnce {
			gang := gangs[now.submitted]
			progress.submitted(gang)
			if err := cluster.Submit(ctx, gang.Job()); err != nil {
				return fmt.Errorf("job %s: %w", gang.Name, err)
			}
			now.submitted++
		}
		for _, name := range progress.endedBut(deleted) {
			deleted[name] = true
			background := metav1.DeletePropagationBackground
			err := cluster.Volcano.BatchV1alpha1().Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
			if err != nil {
				return fmt.Errorf("job %s: %w", name, err)
			}
			if len(deleted)%50 == 0 {
				options.Say("%d of %d gangs have ended", len(deleted), len(gangs))
			}
		}
		if now.ended == len(gangs) {
			return nil
		}
		sleep(ctx, 20*time.Millisecond)
	}
	return nil
}
