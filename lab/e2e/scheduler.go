package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Scheduler is one tephra-scheduler.
type Scheduler struct {
	*Process
	Address string // of /readyz and /metrics

	patience time.Duration
}

// NewScheduler prepares a scheduler for pods of "volcano" that asks that engine, with the rights of
// the manifests; it does not run yet. Flags win over the usual ones.
func (c *Cluster) NewScheduler(name string, engine *Engine, flags ...string) (*Scheduler, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	arguments := append([]string{
		"--kubeconfig=" + c.account, "--engine-socket=" + engine.Socket,
		"--listen-address=" + address, "--enable-metrics", "--enable-healthz=false", "--cache-dumper=false",
		"--leader-elect=false", "--leader-elect-resource-namespace=tephra-system",
		"--leader-elect-resource-name=tephra-scheduler", "--min-interval=10ms", "--slices-keys=" + c.keys(), "-v=3",
	}, flags...)
	const named = "--scheduler-name="
	if !slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, named) }) {
		arguments = append(arguments, named+"volcano") // the flag takes a list, so a second one adds to it
	}
	// A large cluster takes longer to learn.
	patience := Patience * time.Duration(1+c.options.Nodes/1000)
	return &Scheduler{c.NewProcess(name, c.programs.Scheduler, arguments...), address, patience}, nil
}

// Start returns when the process runs; IsReady waits for more.
func (s *Scheduler) Start(context.Context) error { return s.Launch() }

// Restart kills the scheduler and starts it again; it returns when it is ready.
func (s *Scheduler) Restart(ctx context.Context) error {
	s.Kill()
	if err := s.Start(ctx); err != nil {
		return err
	}
	return s.IsReady(ctx)
}

// IsReady returns when /readyz says ok.
func (s *Scheduler) IsReady(ctx context.Context) error {
	return within(ctx, s.patience, func(ctx context.Context) error {
		if !s.Alive() {
			return Final(fmt.Errorf("%s: %s:\n%s", s.Name, s.state(), s.Tail(10)))
		}
		code, text, err := s.Get(ctx, "/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%s: /readyz: %d %s", s.Name, code, strings.TrimSpace(text))
		}
		return err
	})
}

// Get asks the scheduler's HTTP server.
func (s *Scheduler) Get(ctx context.Context, path string) (code int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+path, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// Metric is the sum over all labels of a counter or gauge; of a histogram, how often it was observed.
func (s *Scheduler) Metric(ctx context.Context, name string) (sum float64, err error) {
	_, text, err := s.Get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return 0, err
	}
	family := families[name]
	if family == nil {
		return 0, fmt.Errorf("%s: /metrics has no %s", s.Name, name)
	}
	for _, metric := range family.GetMetric() {
		sum += metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
	}
	return sum, nil
}

// FreeAddress is below the kernel's ephemeral range: a port inside it could be given to some outgoing
// connection while the scheduler is down.
func FreeAddress() (string, error) {
	const first, last, tries = 20000, 32000, 100
	for range tries {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first))
		if listener, err := net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("ports: no free one from %d to %d on 127.0.0.1 found in %d tries", first, last, tries)
}
