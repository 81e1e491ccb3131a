package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLostLease ends a process that led and no longer leads: another process leads, and two schedulers of
// one name would both bind.
var ErrLostLease = errors.New("the leader election lease was lost")

// Lease is the leader election lease as this process knows it. A process that was paused wakes up in the
// middle of whatever it did, seconds before its leader elector notices that another process leads. So each
// write asks the lease first. Any goroutine may call any method.
type Lease struct {
	self string
	// A lease counts as held for so long after the request that renewed it was sent. Shorter than what other
	// processes wait before they take it, so that a write that has begun can end.
	validFor time.Duration
	lost     chan struct{} // closed once it was held and is so no more

	mutex    sync.Mutex
	renewed  time.Time // zero: never held
	term     uint64
	gone     bool
	standing time.Time     // when another process was last seen with the lease; zero: it had none then
	writes   int           // under way
	released chan struct{} // not nil: no write begins any more; closed when those under way have ended
}

func newLease(self string, validFor time.Duration) *Lease {
	return &Lease{self: self, validFor: validFor, lost: make(chan struct{})}
}

// Term is how often the lease has changed hands up to this process; 0: this process has not held it.
func (l *Lease) Term() uint64 {
	if l == nil {
		return 0
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.term
}

// mayWrite: the lease is held, or never was, so that nothing was begun under it.
func (l *Lease) mayWrite() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.renewed.IsZero() && time.Since(l.renewed) > l.validFor {
		l.lose()
	}
	return !l.gone && l.released == nil
}

// begin: a write may begin, and the caller calls finish after it.
func (l *Lease) begin() bool {
	if !l.mayWrite() {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.released != nil {
		return false
	}
	l.writes++
	return true
}

func (l *Lease) finish() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.writes--
	if l.writes == 0 && l.released != nil {
		close(l.released)
	}
}

// end lets no write begin any more, and waits until those under way have ended.
func (l *Lease) end(ctx context.Context) error {
	l.mutex.Lock()
	if l.released == nil {
		l.released = make(chan struct{})
		if l.writes == 0 {
			close(l.released)
		}
	}
	released := l.released
	l.mutex.Unlock()
	select {
	case <-released:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("writes are still under way, so the lease is not released: %w", ctx.Err())
	}
}

// wrote: this process wrote the record, with a request that it sent then.
func (l *Lease) wrote(record resourcelock.LeaderElectionRecord, sent time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if record.HolderIdentity == l.self {
		l.renewed, l.term = sent, uint64(record.LeaderTransitions)+1
	}
}

// saw: the API server has the record now.
func (l *Lease) saw(record *resourcelock.LeaderElectionRecord) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.renewed.IsZero() && record.HolderIdentity != l.self {
		l.lose()
	}
	l.standing = time.Time{}
	if record.HolderIdentity != l.self && record.HolderIdentity != "" {
		l.standing = time.Now()
	}
}

// StandsBy: another process has the lease, as this process saw a moment ago, so this process is ready to take over.
func (l *Lease) StandsBy() bool {
	if l == nil {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.renewed.IsZero() && !l.standing.IsZero() && time.Since(l.standing) <= l.validFor
}

// lose marks the lease as lost. REQUIRES: the mutex is held.
func (l *Lease) lose() {
	if !l.gone {
		l.gone = true
		close(l.lost)
	}
}

// Guard is the configuration of clients whose writes fail once the lease is lost. Without leader election,
// where the lease is nil, it is the configuration itself.
func (l *Lease) Guard(config *rest.Config) *rest.Config {
	if l == nil {
		return config
	}
	guarded := rest.CopyConfig(config)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return guard{l, next} })
	return guarded
}

type guard struct {
	lease *Lease
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		return g.next.RoundTrip(request)
	}
	if !g.lease.begin() {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, ErrLostLease
	}
	defer g.lease.finish()
	return g.next.RoundTrip(request)
}

// watchedLock tells the lease what the leader elector reads and writes.
type watchedLock struct {
	resourcelock.Interface
	lease *Lease
}

// Get implements resourcelock.Interface.
func (w watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	if err == nil {
		w.lease.saw(record)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (w watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.write(ctx, record, w.Interface.Create)
}

// Update implements resourcelock.Interface. A lease that was lost belongs to another process, which the leader
// elector would overwrite when it releases the lease at its end. A lease is released after the last write: the next
// leader may begin at once.
func (w watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != w.lease.self && w.lease.mayWrite() {
		if err := w.lease.end(ctx); err != nil {
			return err
		}
		return w.Interface.Update(ctx, record)
	}
	return w.write(ctx, record, w.Interface.Update)
}

func (w watchedLock) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	do func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if !w.lease.mayWrite() {
		return ErrLostLease
	}
	sent := time.Now()
	err := do(ctx, record)
	if err == nil {
		w.lease.wrote(record, sent)
	}
	return err
}
