package churn

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"tephra.sh/lab/e2e"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

// Load is what is submitted at once to an empty cluster: equal gangs of one-GPU pods that run until
// they are deleted.
type Load struct {
	Gangs int
	Pods  int32 // each gang
	// Admit lets every gang have its pods at once, where no scheduler does.
	Admit bool
	// Nodes, if there are any, get the pods as they are created, in turn and without a decision. Then no scheduler may run.
	Nodes []string
	Say   func(format string, values ...any)
}

// Times are seconds since the first submission.
type Times struct {
	Submitted float64 `json:"submitted_s"` // the API server has the last Job
	Created   float64 `json:"created_s"`   // and the last pod
	Bound     float64 `json:"bound_s"`     // the last pod has its node; 0 without a scheduler
	Pods      int     `json:"pods"`
	// Writes that the API server answered until then, by resource and verb, of all clients.
	Writes map[string]float64 `json:"writes"`
}

// Bind submits the load and returns when all of its pods are bound, or, where no scheduler runs, when
// they are there.
func Bind(ctx context.Context, config *rest.Config, load Load) (*Times, error) {
	jobs, err := volcano.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	progress := newProgress(nil)
	group, ctx := errgroup.WithContext(ctx)
	ctx, done := context.WithCancel(ctx)
	defer done()
	if err := observe(ctx, group, config, progress); err != nil {
		return nil, err
	}
	if load.Admit {
		if err := admitAll(ctx, group, jobs); err != nil {
			return nil, err
		}
	}
	if len(load.Nodes) > 0 {
		if err := bindAll(ctx, group, config, load.Nodes); err != nil {
			return nil, err
		}
	}
	decided := !load.Admit || len(load.Nodes) > 0
	before, err := writes(ctx, config)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	var submitted time.Time
	group.Go(func() error {
		var users errgroup.Group
		users.SetLimit(16)
		for i := range load.Gangs {
			gang := Gang{Name: fmt.Sprintf("gang-%04d", i), Queue: "research", Pods: load.Pods, Least: load.Pods,
				Asks: map[core.ResourceName]string{e2e.GPU: "1"}}
			progress.submitted(gang)
			users.Go(func() error {
				_, err := jobs.BatchV1alpha1().Jobs(namespace).Create(ctx, gang.Job(), metav1.CreateOptions{})
				return err
			})
		}
		err := users.Wait()
		submitted = time.Now()
		return err
	})
	group.Go(func() error {
		defer done()
		all := load.Gangs * int(load.Pods)
		said := time.Now()
		for {
			now := progress.counts()
			if now.bound == all || (!decided && now.created == all) {
				return nil
			}
			if time.Since(said) > 10*time.Second {
				said = time.Now()
				load.Say("%.0f s: %d pods created, %d bound, of %d", time.Since(began).Seconds(), now.created, now.bound, all)
			}
			if !sleep(ctx, 20*time.Millisecond) {
				return nil
			}
		}
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	times := &Times{Submitted: submitted.Sub(began).Seconds(), Created: progress.lastPod.Sub(began).Seconds(),
		Pods: progress.counts().created, Writes: map[string]float64{}}
	after, err := writes(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, err
	}
	for what, count := range after {
		if more := count - before[what]; more > 0 {
			times.Writes[what] = more
		}
	}
	if decided {
		times.Bound = progress.lastBind.Sub(began).Seconds()
	}
	return times, nil
}

// admitAll does what a scheduler would do first if there were room for everything: it moves each pod
// group to the phase Inqueue.
func admitAll(ctx context.Context, group *errgroup.Group, client volcano.Interface) error {
	groups := client.SchedulingV1beta1().PodGroups(namespace)
	patch := fmt.Appendf(nil, `{"status":{"phase":%q}}`, scheduling.PodGroupInqueue)
	waiting := make(chan string, 1<<16)
	run, err := follow(ctx, groups, func(ctx context.Context) (metav1.ListInterface, error) {
		return groups.List(ctx, metav1.ListOptions{})
	}, func(one *scheduling.PodGroup, gone bool) {
		if !gone && (one.Status.Phase == "" || one.Status.Phase == scheduling.PodGroupPending) {
			waiting <- one.Name
		}
	})
	if err != nil {
		return err
	}
	group.Go(run)
	eachOf(ctx, group, waiting, func(name string) error {
		if _, err := groups.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("pod group %s: %w", name, err)
		}
		return nil
	})
	return nil
}
