package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// ErrLostLease ends a process that led and may do so no longer: another does, and two schedulers of
// one name would both bind.
var ErrLostLease = errors.New("the leader election lease was lost")

// Lead runs the function while this process leads, or at once where no election is asked for.
func Lead(ctx context.Context, config *rest.Config, opt *options.ServerOption, run func(context.Context)) error {
	if !opt.LeaderElection.LeaderElect {
		run(ctx)
		return ctx.Err()
	}
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "leader-election"))
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("host name for the leader election: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, opt.LeaderElection.ResourceNamespace,
		opt.LeaderElection.ResourceName, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: hostname + "_" + string(uuid.NewUUID())})
	if err != nil {
		return err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   opt.LeaderElection.LeaseDuration.Duration,
		RenewDeadline:   opt.LeaderElection.RenewDeadline.Duration,
		RetryPeriod:     opt.LeaderElection.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: run,
			OnStoppedLeading: func() { klog.InfoS("No longer leading") },
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	if ctx.Err() == nil {
		return ErrLostLease
	}
	return ctx.Err()
}
