// Package whole simulates a whole cluster around the real scheduler and the real engine, in simulated time: an API
// server, controllers, kubelets and the network between them are models, tephra-scheduler and Volcano's cache are the
// code that runs in clusters, and the engine is a child process that does nothing but answer.
//
// All that is random follows from a seed and from what happens, never from the order in which goroutines run: each
// request has a delay of its own, to the nanosecond, so that no two of them meet at one instant. A run therefore has
// to be in a bubble of testing/synctest, whose clock moves when nothing can run.
package whole

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"sync"
	"time"
)

// World is one run. Its lock is never held by a goroutine that waits for anything else.
type World struct {
	Seed   uint64
	Faults []Fault
	Mutant string // a planted fault of the models; empty: none

	began  time.Time
	mutex  sync.Mutex
	counts map[string]uint64
	ended  bool
	broken []string // laws, each with what broke it
	trace  uint64
	lines  []string // what happened, if it is kept
	keep   bool

	api        *apiServer
	engines    *engines
	schedulers []*instance
	nodes      []*kubelet
	jobs       []*job
	laws       *laws
}

// now is the time since the run began.
func (w *World) now() time.Duration { return time.Since(w.began) }

// random is a number that follows from the seed, the text and how often the text was asked for before.
// REQUIRES: the lock is held.
func (w *World) random(text string) uint64 {
	w.counts[text]++
	return mix(w.Seed, text, w.counts[text])
}

func mix(seed uint64, text string, count uint64) uint64 {
	hash := fnv.New64a()
	var numbers [16]byte
	binary.LittleEndian.PutUint64(numbers[:8], seed)
	binary.LittleEndian.PutUint64(numbers[8:], count)
	_, _ = hash.Write(numbers[:])
	_, _ = hash.Write([]byte(text))
	x := hash.Sum64() // FNV's low bits differ little between texts that do
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// between is a delay that no other event is likely to have.
func (w *World) between(text string, low, high time.Duration) time.Duration {
	return low + time.Duration(w.random(text)%uint64(high-low))
}

// chance is true that often, in a thousand.
func (w *World) chance(text string, perMille uint64) bool { return w.random(text)%1000 < perMille }

// after calls the function, with the lock held, unless the run has ended by then.
func (w *World) after(delay time.Duration, do func()) {
	time.AfterFunc(delay, func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if !w.ended {
			do()
		}
	})
}

// note adds to the trace, which is the same for two runs that did the same. REQUIRES: the lock is held.
func (w *World) note(format string, values ...any) {
	if w.ended {
		return
	}
	line := fmt.Sprintf("%12.6f ", w.now().Seconds()) + fmt.Sprintf(format, values...)
	w.trace = mix(w.trace, line, 0)
	if w.keep {
		w.lines = append(w.lines, line)
	}
}

// breaks notes that a law does not hold.
func (w *World) breaks(law, format string, values ...any) {
	text := law + ": " + fmt.Sprintf(format, values...)
	w.note("BROKEN %s", text)
	if len(w.broken) < 20 {
		w.broken = append(w.broken, text)
	}
}

// active is the fault of that kind that stands now for the target, or if that is -1, for any; nil: none.
func (w *World) active(kind Kind, target int) *Fault {
	now := w.now()
	for i := range w.Faults {
		f := &w.Faults[i]
		if f.Kind == kind && f.At <= now && now < f.At+f.For && (f.Target == target || target < 0) {
			return f
		}
	}
	return nil
}
