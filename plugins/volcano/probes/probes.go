// Package probes answers the kubelet's probes on a listener of their own, so that they pass whatever the ports for metrics and
// webhooks are put through. A probe of liveness fails when work has not ended for so long that only a restart helps.
package probes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"tephra.sh/volcano/listen"
)

// mostConnections of the listener: kubelets open one at a time.
const mostConnections = 16

// Work knows which pieces of work go on and since when. The zero value has none; any goroutine.
type Work struct {
	mutex sync.Mutex
	next  uint64
	began map[uint64]time.Time
}

// Begin says that a piece of work begins, and returns what says that it has ended.
func (w *Work) Begin() (end func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.began == nil {
		w.began = map[uint64]time.Time{}
	}
	number := w.next
	w.next++
	w.began[number] = time.Now()
	return func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		delete(w.began, number)
	}
}

// Within is nil if no piece of work has gone on for longer than the limit.
func (w *Work) Within(limit time.Duration, what string) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, began := range w.began {
		if took := time.Since(began); took > limit {
			return fmt.Errorf("%s has run for %s, expected at most %s", what, took.Round(time.Second), limit)
		}
	}
	return nil
}

// Handle adds /healthz and /readyz to mux: "ok", or 503 with the error.
func Handle(mux *http.ServeMux, healthy, ready func() error) {
	for path, check := range map[string]func() error{"/healthz": healthy, "/readyz": ready} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if err := check(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		})
	}
}

// Serve answers the probes on the address until the context ends, and returns the address. One that cannot be had is an
// error at once.
func Serve(ctx context.Context, address string, healthy, ready func() error) (string, error) {
	listener, err := listen.TCP(address, mostConnections)
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	Handle(mux, healthy, ready)
	server := listen.Server(mux)
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The server of probes ended", "address", address)
		}
	}()
	return listener.Addr().String(), nil
}
