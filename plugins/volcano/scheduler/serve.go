package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"

	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	vcutil "volcano.sh/volcano/pkg/util"

	"tephra.sh/volcano/listen"
)

// Serve answers /healthz, /readyz, /metrics and, where enabled, /debug/pprof on the addresses of
// the options until the context ends. An address that cannot be had is an error at once.
func Serve(ctx context.Context, opt *options.ServerOption, ready func() error) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	if opt.EnableMetrics {
		mux.Handle("/metrics", vcutil.PromHandler())
	}
	if opt.EnablePprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	addresses := map[string]bool{opt.ListenAddress: true}
	if opt.EnableHealthz {
		addresses[opt.HealthzBindAddress] = true
	}
	for address := range addresses {
		if address == "" {
			continue
		}
		listener, err := listen.TCP(address, listen.MostConnections)
		if err != nil {
			return fmt.Errorf("listen %w", err)
		}
		server := listen.Server(mux)
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				klog.ErrorS(err, "HTTP server ended", "address", address)
			}
		}()
	}
	return nil
}
