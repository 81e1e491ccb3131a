package scheduler

import (
	"context"
	"syscall"
	"time"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
)

// How long nothing has to change before a session opens nevertheless, in scheduling periods.
const (
	// For what only time brings about.
	quietPeriods = 10
	// After a change: Volcano's cache may have learnt of it a moment later than we did.
	changedPeriods = 1
)

// unsettledPart of a period passes at most before the outcome of a plan is read and reported.
const unsettledPart = 10

// changed asks for a session.
func (s *Scheduler) changed() {
	select {
	case s.wake <- struct{}{}:
	default: // one is asked for already
	}
}

// loop opens a session when something has changed, and rests as long as the last one
// computed: what a session costs grows with the cluster, and the API server may live on the same
// machine. Waiting for that server, as a session does at its end, needs no rest.
func (s *Scheduler) loop(ctx context.Context) {
	for woken := true; ctx.Err() == nil; {
		started, busyBefore := time.Now(), s.busy()
		interval := s.interval
		if s.narrow() {
			interval = 0
		} else {
			s.session()
		}
		took := time.Since(started)
		if !sleep(ctx, max(interval-took, min(took, s.busy()-busyBefore))) {
			return
		}
		quiet := s.quiet(woken)
		select {
		case <-ctx.Done():
		case <-s.wake:
			woken = true
		case <-time.After(quiet):
			woken = woken && quiet < changedPeriods*s.period
		}
		if s.view != nil && !sleep(ctx, s.gather) {
			return
		}
		s.answered()
	}
}

// answered: the changes so far are in the next plan.
func (s *Scheduler) answered() {
	select {
	case <-s.wake:
	default:
	}
}

func (s *Scheduler) quiet(woken bool) time.Duration {
	if s.view != nil && s.conf.current().narrow() && s.action.Moving() > 0 {
		return s.action.Moving()
	}
	switch {
	case s.action.Unsettled():
		return s.period / unsettledPart
	case woken, s.conf.usesStockActions(), s.conf.usesEngine() && !s.action.EngineReachable():
		return changedPeriods * s.period
	}
	return quietPeriods * s.period
}

// busy is the processor time that this process has used.
func busy() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// narrow is a cycle without a session of the whole cluster; false: one has to follow.
func (s *Scheduler) narrow() bool {
	now := s.conf.current()
	if s.view == nil || !now.narrow() {
		return false
	}
	defer s.work.Begin()()
	started := time.Now()
	if !s.action.Narrow(s.view, func() *framework.Session {
		now.enable()
		return framework.OpenSession(s.view, now.tiers, now.arguments)
	}) {
		return false
	}
	metrics.UpdateE2eDuration(metrics.Duration(started))
	return true
}

// enable tells stock actions and plugins which actions run beside them.
func (s settings) enable() {
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range s.actions {
		conf.EnabledActionMap[action.Name()] = true
	}
}

// session is one cycle of Volcano's framework.
func (s *Scheduler) session() {
	defer s.work.Begin()()
	started := time.Now()
	now := s.conf.current()
	now.enable()
	if s.conf.usesEngine() {
		s.action.Prepare()
	}
	ssn := framework.OpenSession(s.cache, now.tiers, now.arguments)
	for _, action := range now.actions {
		began := time.Now()
		action.Execute(ssn)
		metrics.UpdateActionDuration(action.Name(), metrics.Duration(began))
	}
	framework.CloseSession(ssn)
	metrics.UpdateE2eDuration(metrics.Duration(started))
	s.action.WholeTook(time.Since(started))
}
