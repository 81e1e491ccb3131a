package scheduler

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"volcano.sh/volcano/cmd/scheduler/app/options"
)

// store is an API server's lease.
type store struct {
	resourcelock.Interface
	mutex  sync.Mutex
	record resourcelock.LeaderElectionRecord
}

func (s *store) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	record := s.record
	return &record, nil, nil
}

func (s *store) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.record = record
	return nil
}

func (s *store) holder() string {
	record, _, _ := s.Get(context.Background())
	return record.HolderIdentity
}

func (s *store) Identity() string   { return "me" }
func (s *store) Describe() string   { return "a lease" }
func (s *store) RecordEvent(string) {}

type counter struct{ calls int }

func (c *counter) RoundTrip(*http.Request) (*http.Response, error) { c.calls++; return nil, nil }

func request(t *testing.T, method string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, "http://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func lostNow(l *Lease) bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

func TestWritesEndWithTheLease(t *testing.T) {
	for _, test := range []struct {
		name string
		lose func(*Lease, watchedLock, *store)
	}{
		{"another process has it", func(_ *Lease, lock watchedLock, s *store) {
			s.record.HolderIdentity = "other"
			_, _, _ = lock.Get(context.Background())
		}},
		{"it was not renewed in time", func(l *Lease, _ watchedLock, _ *store) { l.renewed = time.Now().Add(-time.Minute) }},
	} {
		lease, api, server := newLease("me", 10*time.Second), &store{}, &counter{}
		lock, client := watchedLock{api, lease}, guard{lease, server}
		if _, err := client.RoundTrip(request(t, http.MethodPost)); err != nil {
			t.Errorf("%s: before the lease: %v", test.name, err)
		}
		if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaderTransitions: 4}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.RoundTrip(request(t, http.MethodPut)); err != nil || lease.Term() != 5 || lostNow(lease) {
			t.Errorf("%s: while the lease is held: %v, term %d", test.name, err, lease.Term())
		}
		test.lose(lease, lock, api)
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if _, err := client.RoundTrip(request(t, method)); !errors.Is(err, ErrLostLease) {
				t.Errorf("%s: %s: %v", test.name, method, err)
			}
		}
		if !lostNow(lease) || server.calls != 2 {
			t.Errorf("%s: lost %v, %d requests", test.name, lostNow(lease), server.calls)
		}
		if _, err := client.RoundTrip(request(t, http.MethodGet)); err != nil {
			t.Errorf("%s: a read: %v", test.name, err)
		}
		// The elector releases the lease at its end, which another process may have.
		if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}); !errors.Is(err, ErrLostLease) {
			t.Errorf("%s: release: %v", test.name, err)
		}
	}
}

// slow answers once its channel is closed.
type slow struct{ began, answer chan struct{} }

func (s slow) RoundTrip(*http.Request) (*http.Response, error) {
	s.began <- struct{}{}
	<-s.answer
	return nil, nil
}

func TestALeaseIsReleasedAfterTheLastWrite(t *testing.T) {
	lease, api, server := newLease("me", 10*time.Second), &store{}, slow{make(chan struct{}), make(chan struct{})}
	lock, client := watchedLock{api, lease}, guard{lease, server}
	if err := lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = client.RoundTrip(request(t, http.MethodPost)) }()
	<-server.began
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := lock.Update(short, resourcelock.LeaderElectionRecord{}); !errors.Is(err, context.DeadlineExceeded) || api.holder() != "me" {
		t.Errorf("released while a write is under way: %v, holder %q", err, api.holder())
	}
	if _, err := client.RoundTrip(request(t, http.MethodPost)); !errors.Is(err, ErrLostLease) {
		t.Errorf("a write after the release began: %v", err)
	}
	close(server.answer)
	for lease.end(t.Context()) != nil {
	}
	if lostNow(lease) {
		t.Error("a lease that is released was not lost")
	}
}

func TestTheLastSessionEndsBeforeTheLeaseIsReleased(t *testing.T) {
	lease, api := newLease("me", 10*time.Second), &store{}
	client := guard{lease, &counter{}}
	opt := options.NewServerOption()
	opt.LeaderElection.LeaseDuration.Duration, opt.LeaderElection.RenewDeadline.Duration, opt.LeaderElection.RetryPeriod.Duration = 5*time.Second, 4*time.Second, 50*time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var holder string
	var written error
	err := lead(ctx, api, opt, lease, func(running context.Context) {
		stop() // as SIGTERM does, in the middle of a session
		<-running.Done()
		time.Sleep(200 * time.Millisecond)
		holder = api.holder()
		_, written = client.RoundTrip(request(t, http.MethodPost))
	})
	if !errors.Is(err, context.Canceled) || holder != "me" || written != nil {
		t.Errorf("the last write of a session: %v, while %q held the lease; %v", written, holder, err)
	}
	if api.holder() != "" {
		t.Errorf("%q holds the lease after the end", api.holder())
	}
	if _, err := client.RoundTrip(request(t, http.MethodPost)); !errors.Is(err, ErrLostLease) {
		t.Errorf("a write after the end: %v", err)
	}
}

func TestAProcessIsReadyToTakeOverWhileAnotherHasTheLease(t *testing.T) {
	lease := newLease("me", time.Hour)
	see := func(holder string) {
		lease.saw(&resourcelock.LeaderElectionRecord{HolderIdentity: holder})
	}
	stands := func(want bool, when string) {
		t.Helper()
		if lease.StandsBy() != want {
			t.Errorf("stands by: %v, expected %v: %s", !want, want, when)
		}
	}
	stands(false, "it has seen no lease")
	see("another")
	stands(true, "another process leads")
	see("")
	stands(false, "the lease was released")
	see("another")
	lease.standing = time.Now().Add(-2 * time.Hour)
	stands(false, "the API server has not answered for long")
	see("another")
	lease.wrote(resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, time.Now())
	stands(false, "this process leads")
	see("another")
	stands(false, "this process lost the lease")
	if (*Lease)(nil).StandsBy() {
		t.Error("a process without leader election stands by")
	}
}
