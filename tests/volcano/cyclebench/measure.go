package main

import (
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/pprof"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/action"
	"tephra.sh/volcano/facts"
)

// Volcano's own default configuration; the actions are chosen by each kind of work.
const configuration = `
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
`

const (
	gpusPerNode = 8
	queue       = "default"
	gangSize    = 512
	cycleLimit  = 2 * time.Minute // for one plan
	profileRate = 1000            // samples a second; pprof complains that it cannot set its own
)

// work is what one process measures.
type work struct {
	Kind    string
	Nodes   int
	Rounds  int
	Plan    string
	Profile string
}

// result of one process. What its kind does not measure is zero.
type result struct {
	Cycle sink.Cost `json:"cycle"` // 8 one-GPU pods a node arrive and are placed

	Idle      sink.Cost `json:"idle"`      // the action that does nothing, all pods running
	Unchanged sink.Cost `json:"unchanged"` // ours, where nothing has changed
	WaitIdle  sink.Cost `json:"waitIdle"`  // the two again, with gangs that wait
	WaitSame  sink.Cost `json:"waitSame"`
	GangIdle  sink.Cost `json:"gangIdle"` // a gang of 512 arrives and nothing is done
	Gang      sink.Cost `json:"gang"`     // and ours places it
}

// bench is a cluster of GPU nodes, with what its kind of work needs.
type bench struct {
	*sink.Cluster
	work
	profile sink.Profile
	engine  *sink.Engine
	tephra  *action.Action
}

func measure(work work) (result, error) {
	b, err := newBench(work)
	if err != nil {
		return result{}, err
	}
	defer b.close()
	switch work.Kind {
	case "stock":
		actions, err := sink.StockActions("enqueue", "allocate", "backfill")
		if err != nil {
			return result{}, err
		}
		return b.fill(actions...)
	case "tephra":
		out, err := b.fill(b.tephra)
		if err == nil && work.Plan != "" {
			err = writePlan(work.Plan, b.Bindings())
		}
		return out, err
	case "ready":
		plan, err := readPlan(work.Plan)
		if err != nil {
			return result{}, err
		}
		return b.fill(sink.Do("ready-plan", plan.carryOut))
	case "standing":
		return b.standing()
	}
	return result{}, fmt.Errorf("unknown kind %q", work.Kind)
}

func newBench(work work) (*bench, error) {
	b := &bench{work: work}
	var err error
	if b.profile, err = sink.ReadProfile(configuration); err != nil {
		return nil, err
	}
	var feed *facts.Options
	if work.Kind == "tephra" || work.Kind == "standing" {
		feed = &facts.Options{Admit: true}
	}
	if b.Cluster, err = sink.New(feed); err != nil {
		return nil, err
	}
	if feed != nil {
		if err := b.startEngine(); err != nil {
			return nil, err
		}
	}
	if err := b.Add(sink.Queue("root"), sink.Queue(queue)); err != nil {
		return nil, err
	}
	for i := range work.Nodes {
		node, err := sink.GPUNode(fmt.Sprintf("node-%05d", i), gpusPerNode)
		if err != nil {
			return nil, err
		}
		if err := b.Add(node); err != nil {
			return nil, err
		}
	}
	if err := b.Start(); err != nil {
		return nil, err
	}
	// A scheduler at work has had sessions before, and its engine knows the nodes.
	b.Session(b.profile, sink.Idle)
	if b.tephra != nil {
		b.Session(b.profile, b.tephra)
	}
	return b, nil
}

func (b *bench) startEngine() error {
	var err error
	if b.engine, err = sink.StartEngine(nil); err != nil {
		return err
	}
	b.tephra, err = action.New(b.Feed, action.Options{EngineSocket: b.engine.Socket, Client: "cyclebench",
		Timeout: cycleLimit})
	return err
}

func (b *bench) close() {
	b.Stop()
	if b.engine != nil {
		_ = b.tephra.Close()
		b.engine.Stop()
	}
}

// fill times the cycle in which 8 one-GPU pods a node, each a gang of its own, are placed.
func (b *bench) fill(actions ...framework.Action) (result, error) {
	pods := b.Nodes * gpusPerNode
	if err := b.submit("pod", pods, 1); err != nil {
		return result{}, err
	}
	cost, err := b.cycle(actions...)
	if err != nil {
		return result{}, err
	}
	return result{Cycle: cost}, b.expectBindings(pods)
}

// submit adds gangs and returns once the scheduler knows them.
func (b *bench) submit(name string, gangs, members int) error {
	var objects []runtime.Object
	for i := range gangs {
		group, pods := sink.Gang(fmt.Sprintf("%s-%06d", name, i), queue, members, sink.GPUs(1))
		objects = append(objects, group)
		for _, pod := range pods {
			objects = append(objects, pod)
		}
	}
	return b.Add(objects...)
}

func (b *bench) cycle(actions ...framework.Action) (sink.Cost, error) {
	if b.Profile == "" {
		return sink.Measure(b.engine, func() { b.Session(b.profile, actions...) })
	}
	file, err := os.Create(b.Profile)
	if err != nil {
		return sink.Cost{}, err
	}
	defer file.Close()
	goruntime.SetCPUProfileRate(profileRate)
	if err := pprof.StartCPUProfile(file); err != nil {
		return sink.Cost{}, err
	}
	defer pprof.StopCPUProfile()
	return sink.Measure(b.engine, func() { b.Session(b.profile, actions...) })
}

func (b *bench) expectBindings(want int) error {
	if err := b.AwaitBindings(); err != nil {
		return err
	}
	if got := len(b.Bindings()); got != want {
		return fmt.Errorf("%d pods were bound, expected %d", got, want)
	}
	return nil
}
