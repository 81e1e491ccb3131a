package scheduler

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// NewLease is the lease that Lead will take; nil: no leader election was asked for.
func NewLease(opt *options.ServerOption) (*Lease, error) {
	if !opt.LeaderElection.LeaderElect {
		return nil, nil
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name for the leader election: %w", err)
	}
	return newLease(hostname+"_"+string(uuid.NewUUID()), opt.LeaderElection.RenewDeadline.Duration), nil
}

// Lead runs the function while this process holds the lease, or at once if the lease is nil. The
// configuration is for the lease alone.
func Lead(ctx context.Context, config *rest.Config, opt *options.ServerOption, lease *Lease, run func(context.Context)) error {
	if lease == nil {
		run(ctx)
		return ctx.Err()
	}
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(config, "leader-election"))
	if err != nil {
		return err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, opt.LeaderElection.ResourceNamespace,
		opt.LeaderElection.ResourceName, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: lease.self})
	if err != nil {
		return err
	}
	return lead(ctx, lock, opt, lease, run)
}

// lead ends with the context: the function returns, then the lease is released.
func lead(ctx context.Context, lock resourcelock.Interface, opt *options.ServerOption, lease *Lease, run func(context.Context)) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	began, returned := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            watchedLock{lock, lease},
		LeaseDuration:   opt.LeaderElection.LeaseDuration.Duration,
		RenewDeadline:   opt.LeaderElection.RenewDeadline.Duration,
		RetryPeriod:     opt.LeaderElection.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				close(began)
				defer close(returned)
				run(running)
			},
			OnStoppedLeading: func() { klog.InfoS("This process no longer leads") },
		},
	})
	if err != nil {
		return err
	}
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	select {
	case <-lease.lost: // the elector would go on to ask for the lease until its deadline
		return ErrLostLease
	case <-ended:
		return ErrLostLease
	case <-ctx.Done():
	}
	// The session that runs may bind a gang; meanwhile the elector renews the lease.
	select {
	case <-began:
		select {
		case <-returned:
		case <-lease.lost:
			return ErrLostLease
		case <-time.After(opt.LeaderElection.RenewDeadline.Duration):
			klog.InfoS("The last session has not ended in time; the rest of its writes will fail")
		}
	default:
	}
	release()
	<-ended
	return ctx.Err()
}
