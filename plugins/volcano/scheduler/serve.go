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
	"tephra.sh/volcano/probes"
)

// Serve answers probes on one address of the options, and on the other one probes, /metrics and, where enabled, /debug/pprof,
// until the context ends. An address that cannot be had is an error at once.
func Serve(ctx context.Context, opt *options.ServerOption, healthy, ready func() error) error {
	if opt.EnableHealthz && opt.HealthzBindAddress != "" && opt.HealthzBindAddress != opt.ListenAddress {
		if _, err := probes.Serve(ctx, opt.HealthzBindAddress, healthy, ready); err != nil {
			return fmt.Errorf("--healthz-address: %w", err)
		}
	}
	if opt.ListenAddress == "" {
		return nil
	}
	mux := http.NewServeMux()
	probes.Handle(mux, healthy, ready)
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
	listener, err := listen.TCP(opt.ListenAddress, listen.MostConnections)
	if err != nil {
		return fmt.Errorf("--listen-address: %w", err)
	}
	server := listen.Server(mux)
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "HTTP server ended", "address", opt.ListenAddress)
		}
	}()
	return nil
}
