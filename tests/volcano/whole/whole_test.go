//go:debug randseednop=0
package whole

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
)

var (
	from  = flag.Uint64("from", 1, "first seed")
	seeds = flag.Uint64("seeds", 3, "how many seeds")
	keep  = flag.Bool("keep", false, "print what happened")
	again = flag.Bool("again", false, "run each seed twice, and compare")
	logs  = flag.Bool("logs", false, "print the scheduler's log")
)

func TestMain(m *testing.M) {
	flag.Parse()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(flags)
	if *logs {
		_ = flags.Set("v", "3")
	} else {
		_ = flags.Set("logtostderr", "false")
		_ = flags.Set("stderrthreshold", "FATAL")
		klog.SetOutput(io.Discard)
	}
	os.Exit(m.Run())
}

// play runs one seed in a bubble of its own. What the bubble leaves behind stays where it is.
func play(t *testing.T, process *Process, options Options) (out Result) {
	defer func() {
		if r := recover(); r != nil && !strings.Contains(fmt.Sprint(r), "main bubble goroutine has exited") {
			panic(r)
		}
	}()
	synctest.Test(t, func(*testing.T) { out = Run(process, options) })
	return out
}

func TestNoSeedBreaksALaw(t *testing.T) {
	path := os.Getenv(EngineVariable)
	if path == "" {
		path = "../../../build/release/tests/whole/engine_steps"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	process, err := StartProcess(path, "engine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer process.Stop()
	for seed := *from; seed < *from+*seeds; seed++ {
		began := time.Now()
		options := Options{Seed: seed, Faults: Plan(seed), Keep: *keep}
		r := play(t, process, options)
		fmt.Printf("seed %d: %.1f s simulated in %.2f s, %d binds, %d terms, trace %016x\n", seed, r.Simulated.Seconds(), time.Since(began).Seconds(), r.Binds, r.Terms, r.Trace)
		if !*again {
			for _, line := range r.Lines {
				fmt.Println(line)
			}
		}
		for _, law := range r.Broken {
			t.Errorf("seed %d: %s", seed, law)
		}
		if *again {
			second := play(t, process, options)
			for i, line := range r.Lines {
				if i >= len(second.Lines) || second.Lines[i] != line {
					t.Errorf("seed %d: the second run differs in line %d:\n%s\n%s", seed, i, strings.Join(r.Lines[max(0, i-6):min(i+6, len(r.Lines))], "\n"), strings.Join(second.Lines[i:min(i+6, len(second.Lines))], "\n"))
					break
				}
			}
			if second.Trace != r.Trace {
				t.Errorf("seed %d: trace %016x, then %016x", seed, r.Trace, second.Trace)
			}
		}
	}
}
