package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	goruntime "runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/cmd/scheduler/app/options"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/action"
	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/scheduler"
)

// waits are how long jobs of one pod, and gangs of 512, waited for the last of their Bindings, from before the informers
// were given their last pod.
type waits struct {
	Kind    string          `json:"kind"`
	Nodes   int             `json:"nodes"`
	Jobs    int             `json:"jobs"`
	Gangs   int             `json:"gangs"`
	Profile string          `json:"-"`
	Single  []time.Duration `json:"single"` // sorted
	Gang    []time.Duration `json:"gang"`
	// Of the processor time while the jobs came, the part of the garbage collector; and what an idle second took.
	Collector float64   `json:"collector"`
	Idle      sink.Cost `json:"idle"`
}

const (
	runningPerNode = 8 // half of them have a GPU each
	runFor         = 500 * time.Millisecond
	waitLimit      = 2 * time.Minute
	stockPeriod    = time.Second
)

type placed struct {
	pod  *corev1.Pod // not to be changed
	node string
}

// live is a cluster where bound pods run, and end.
type live struct {
	*sink.Cluster
	mutex sync.Mutex
	bound map[string]time.Time // by uid
	ready chan placed

	groups sync.Map // by name
}

func (w *waits) measure() error {
	l := &live{bound: map[string]time.Time{}, ready: make(chan placed, 100_000)}
	var changed func()
	var feed *facts.Options
	if w.Kind != "stock" {
		feed = &facts.Options{Admit: true, Changed: func() {
			if changed != nil {
				changed()
			}
		}}
	}
	var err error
	if l.Cluster, err = sink.New(feed); err != nil {
		return err
	}
	defer l.Stop()
	l.RefuseBind = func(pod *corev1.Pod, node string) string {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.bound[string(pod.UID)] = time.Now()
		l.ready <- placed{pod, node}
		return ""
	}
	if err := w.fill(l.Cluster); err != nil {
		return err
	}
	if err := l.Start(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	var engine *sink.Engine
	if w.Kind == "stock" {
		go func() { ended <- l.stock(ctx) }()
	} else {
		if engine, err = sink.StartEngine(nil); err != nil {
			return err
		}
		defer engine.Stop()
		tephra, err := action.New(l.Feed, action.Options{EngineSocket: engine.Socket, Client: "cyclebench", Timeout: cycleLimit, Recorder: &record.FakeRecorder{}})
		if err != nil {
			return err
		}
		opt := options.NewServerOption()
		opt.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
		own := scheduler.Options{MinInterval: 50 * time.Millisecond, Gather: time.Millisecond, WholeSessions: w.Kind == "whole"}
		go func() {
			ended <- scheduler.Loop(ctx, l.Cache, tephra, opt, own, func(call func()) { changed = call })
		}()
	}
	go l.kubelets(ctx)
	err = w.jobs(l, engine)
	stop()
	if failed := <-ended; err == nil {
		err = failed
	}
	return err
}

// fill gives each node its running pods.
func (w *waits) fill(c *sink.Cluster) error {
	if err := c.Add(sink.Queue("root"), sink.Queue(queue)); err != nil {
		return err
	}
	for i := range w.Nodes {
		node, err := sink.GPUNode(fmt.Sprintf("node-%05d", i), gpusPerNode)
		if err != nil {
			return err
		}
		objects := []runtime.Object{node}
		for p := range runningPerNode {
			each, onGPU := sink.GPUs(1), p < runningPerNode/2
			if !onGPU {
				each = sink.Cores(1)
			}
			group, pods := sink.Gang(fmt.Sprintf("running-%05d-%d", i, p), queue, 1, each)
			group.Status.Phase = schedulingv1beta1.PodGroupRunning
			if err := runOn(pods[0], node.Name, p, onGPU); err != nil {
				return err
			}
			objects = append(objects, group, pods[0])
		}
		if err := c.Add(objects...); err != nil {
			return err
		}
	}
	return nil
}

// stock runs sessions as Volcano's scheduler does.
func (l *live) stock(ctx context.Context) error {
	actions, err := sink.StockActions("enqueue", "allocate", "backfill")
	if err != nil {
		return err
	}
	profile, err := sink.ReadProfile(configuration)
	for err == nil && ctx.Err() == nil {
		l.Session(profile, actions...)
		time.Sleep(stockPeriod)
	}
	return err
}

// kubelets run what is bound. A pod ends after a while, and its group with it.
func (l *live) kubelets(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case bound := <-l.ready:
			pod := bound.pod.DeepCopy()
			pod.Spec.NodeName, pod.Status.Phase = bound.node, corev1.PodRunning
			if err := l.Put(pod); err != nil {
				fmt.Fprintln(os.Stderr, "cyclebench:", err)
			}
			time.AfterFunc(runFor, func() {
				_ = l.Take(pod)
				if group, last := l.groups.LoadAndDelete(pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]); last {
					_ = l.Take(group.(*schedulingv1beta1.PodGroup))
				}
			})
		}
	}
}

func (w *waits) jobs(l *live, engine *sink.Engine) error {
	if _, err := w.gang(l, "first", 1); err != nil { // the caches of a scheduler at work are warm
		return err
	}
	time.Sleep(3*time.Second + time.Duration(w.Nodes)*2*time.Millisecond) // and statuses have been looked at
	if w.Profile != "" {
		file, err := os.Create(w.Profile)
		if err != nil {
			return err
		}
		defer file.Close()
		goruntime.SetCPUProfileRate(profileRate)
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	random := rand.New(rand.NewPCG(1, 1))
	results, failures := make(chan time.Duration, w.Jobs), make(chan error, w.Jobs)
	var began float64
	cost, err := sink.Measure(engine, func() {
		began = collectorTime()
		for i := range w.Jobs {
			go func() {
				took, err := w.gang(l, fmt.Sprintf("job-%04d", i), 1)
				failures <- err
				results <- took
			}()
			time.Sleep(time.Duration(20+random.IntN(40)) * time.Millisecond)
		}
	})
	if err != nil {
		return err
	}
	w.Collector = (collectorTime() - began) / (cost.CPU - cost.Engine).Seconds()
	for range w.Jobs {
		if err := <-failures; err != nil {
			return err
		}
		w.Single = append(w.Single, <-results)
	}
	for i := range w.Gangs {
		took, err := w.gang(l, fmt.Sprintf("gang-%03d", i), gangSize)
		if err != nil {
			return err
		}
		w.Gang = append(w.Gang, took)
		time.Sleep(2*runFor + time.Second)
	}
	slices.Sort(w.Single)
	slices.Sort(w.Gang)
	time.Sleep(3 * time.Second)
	w.Idle, err = sink.Measure(engine, func() { time.Sleep(5 * time.Second) })
	return err
}

func collectorTime() float64 {
	// The runtime brings these up to date at the end of a collection.
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64() - sample[1].Value.Float64()
}

// gang is how long it waits, from just before its last pod comes.
func (w *waits) gang(l *live, name string, members int) (time.Duration, error) {
	group, pods := sink.Gang(name, queue, members, sink.GPUs(1))
	l.groups.Store(name, group)
	if err := l.Put(group); err != nil {
		return 0, err
	}
	time.Sleep(5 * time.Millisecond)
	for _, pod := range pods[:members-1] {
		if err := l.Put(pod); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	if err := l.Put(pods[members-1]); err != nil {
		return 0, err
	}
	for time.Since(began) < waitLimit {
		if last, all := l.boundAt(pods); all {
			return last.Sub(began), nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("gang %s was not bound within %s", name, waitLimit)
}

func (l *live) boundAt(pods []*corev1.Pod) (last time.Time, all bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, pod := range pods {
		at, bound := l.bound[string(pod.UID)]
		if !bound {
			return last, false
		}
		if at.After(last) {
			last = at
		}
	}
	return last, true
}

type latencyReport struct {
	Sizes []waits `json:"sizes"`
}

// latencies measures each kind in processes of its own, by turns. Kinds that take seconds time fewer jobs.
func latencies(nodes []int, jobs, rounds int) (*latencyReport, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	report := &latencyReport{}
	for _, n := range nodes {
		kinds := []waits{{Kind: "narrow", Jobs: jobs, Gangs: 10}, {Kind: "whole", Jobs: (jobs + 4) / 5, Gangs: 2}, {Kind: "stock", Jobs: (jobs + 4) / 5, Gangs: 2}}
		for range rounds {
			for i := range kinds {
				if err := kinds[i].apart(self, n); err != nil {
					return nil, fmt.Errorf("measuring %s on %d nodes: %w", kinds[i].Kind, n, err)
				}
			}
		}
		report.Sizes = append(report.Sizes, kinds...)
	}
	return report, nil
}

// apart adds what a process of its own measures. The collector's part is the largest, and the idle second the last.
func (w *waits) apart(self string, nodes int) error {
	command := exec.Command(self, "measure-latency", "--kind", w.Kind, "--nodes", strconv.Itoa(nodes), "--jobs", strconv.Itoa(w.Jobs),
		"--gangs", strconv.Itoa(w.Gangs))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return err
	}
	var got waits
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return err
	}
	w.Nodes, w.Idle, w.Collector = nodes, got.Idle, max(w.Collector, got.Collector)
	w.Single, w.Gang = append(w.Single, got.Single...), append(w.Gang, got.Gang...)
	slices.Sort(w.Single)
	slices.Sort(w.Gang)
	fmt.Fprintf(os.Stderr, "%d nodes, %s: %s\n", nodes, w.Kind, milliseconds(part(got.Single, 0.5)))
	return nil
}

// part of sorted times: 0.5 is the median.
func part(sorted []time.Duration, of float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(of*float64(len(sorted))))]
}

func (r *latencyReport) markdown() string {
	var out strings.Builder
	fmt.Fprintln(&out, "| nodes | sessions | a job of one pod: median | 99 % | a gang of 512: median | longest | collector | CPU of an idle second |")
	fmt.Fprintln(&out, "|---|---|---|---|---|---|---|---|")
	for _, w := range r.Sizes {
		fmt.Fprintf(&out, "| %d | %s | %s | %s | %s | %s | %.0f %% | %s |\n", w.Nodes, w.Kind, milliseconds(part(w.Single, 0.5)),
			milliseconds(part(w.Single, 0.99)), milliseconds(part(w.Gang, 0.5)), milliseconds(part(w.Gang, 1)), 100*w.Collector,
			milliseconds(w.Idle.CPU/5))
	}
	return out.String()
}
