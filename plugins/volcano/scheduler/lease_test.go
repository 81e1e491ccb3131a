package scheduler

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// store is an API server's lease.
type store struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
}

func (s *store) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := s.record
	return &record, nil, nil
}

func (s *store) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	s.record = record
	return nil
}

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
