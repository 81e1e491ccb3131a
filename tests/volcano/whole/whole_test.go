//go:debug randseednop=0
package whole

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/klog/v2"
)

var (
	from   = flag.Uint64("from", 1, "first seed")
	seeds  = flag.Uint64("seeds", 8, "how many seeds")
	keep   = flag.Bool("keep", false, "print what happened")
	again  = flag.Uint64("again", 2, "run so many of the seeds twice, and compare")
	logs   = flag.Bool("logs", false, "print the scheduler's log")
	shrink = flag.Bool("shrink", true, "look for the faults that a broken law needs")
	only   = flag.String("faults", "", "numbers of the seed's faults to keep, such as 0,3; none: no fault; empty: all")
	mutant = flag.String("mutant", "", "a planted fault of the models")
)

func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1) // goroutines that can run at one instant run in the order in which they became so
	debug.SetGCPercent(300)
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

// play runs one seed in a bubble of its own. Goroutines of Volcano's cache that nothing ends stay behind in it.
func play(t *testing.T, process *Process, options Options) (out Result) {
	defer func() {
		if r := recover(); r != nil && !strings.Contains(fmt.Sprint(r), "main bubble goroutine has exited") {
			panic(r)
		}
	}()
	synctest.Test(t, func(*testing.T) { out = Run(process, options) })
	return out
}

// chosen are the faults of -faults.
func chosen(t *testing.T, all []Fault) (out []Fault) {
	if *only == "" {
		return all
	}
	for _, number := range strings.Split(strings.TrimPrefix(*only, "none"), ",") {
		if number == "" {
			continue
		}
		at, err := strconv.Atoi(number)
		if err != nil || at < 0 || at >= len(all) {
			t.Fatalf("-faults: %q, expected numbers from 0 to %d", *only, len(all)-1)
		}
		out = append(out, all[at])
	}
	return out
}

// needed says with which faults the same law is still broken.
func needed(t *testing.T, process *Process, options Options, law string) string {
	all := options.Faults
	options.Keep = false
	less := Shrink(options, func(o Options) bool {
		for _, broken := range play(t, process, o).Broken {
			if strings.HasPrefix(broken, law+": ") {
				return true
			}
		}
		return false
	})
	if len(less.Faults) == 0 {
		return "-faults none"
	}
	var numbers, texts []string
	for i, f := range all {
		for _, kept := range less.Faults {
			if f == kept {
				numbers, texts = append(numbers, strconv.Itoa(i)), append(texts, f.String())
				break
			}
		}
	}
	return "-faults " + strings.Join(numbers, ",") + ": " + strings.Join(texts, "; ")
}

func difference(a, b []string) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("first\n%s\nsecond\n%s", strings.Join(a[max(0, i-5):min(i+5, len(a))], "\n"),
				strings.Join(b[max(0, i-5):min(i+5, len(b))], "\n"))
		}
	}
	return "lines after the first run's last"
}

func TestNoSeedBreaksALaw(t *testing.T) {
	path := os.Getenv(EngineVariable)
	if path == "" {
		path = "../../../build/release/tests/whole/engine_steps"
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%v; build the target engine_steps of the release preset, or set %s", err, EngineVariable)
	}
	process, err := StartProcess(path, "engine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer process.Stop()
	for seed := *from; seed < *from+*seeds; seed++ {
		twice := seed < *from+*again
		options := Options{Seed: seed, Faults: chosen(t, Plan(seed)), Mutant: *mutant, Keep: *keep || twice}
		r := play(t, process, options)
		fmt.Printf("seed %d: %.0f s, %d binds, %d evictions, %d faults, %d laws broken, trace %016x\n", seed, r.Simulated.Seconds(), r.Binds,
			r.Evictions, len(options.Faults), len(r.Broken), r.Trace)
		if *keep {
			fmt.Println(strings.Join(r.Lines, "\n"))
		}
		for _, law := range r.Broken {
			fmt.Printf("broken: seed %d: %s\n", seed, law)
			t.Errorf("seed %d: %s", seed, law)
		}
		if len(r.Broken) > 0 && *shrink {
			law, _, _ := strings.Cut(r.Broken[0], ": ")
			fmt.Printf("again: -from %d -seeds 1 -keep %s\n", seed, needed(t, process, options, law))
		}
		if twice {
			if second := play(t, process, options); second.Trace != r.Trace {
				t.Errorf("seed %d: the second run differs from the first: %s", seed, difference(r.Lines, second.Lines))
			} else {
				fmt.Printf("same: seed %d\n", seed)
			}
		}
	}
}
