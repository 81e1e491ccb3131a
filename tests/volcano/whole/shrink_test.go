package whole

import (
	"testing"
	"time"
)

func TestShrinkKeepsExactlyTheFaultsThatMatter(t *testing.T) {
	for seed := range uint64(200) {
		options := Options{Faults: Plan(seed)}
		first, last := options.Faults[0], options.Faults[len(options.Faults)-1]
		needs := func(o Options) bool {
			found := map[Fault]bool{}
			for _, f := range o.Faults {
				found[f] = true
			}
			return found[first] && found[last]
		}
		if got := Shrink(options, needs); !needs(got) || len(got.Faults) != 2 {
			t.Errorf("seed %d: %v of %v", seed, got.Faults, options.Faults)
		}
	}
}

func TestCalmTimeIsTimeWithoutAFault(t *testing.T) {
	for seed := range uint64(200) {
		w := &World{Faults: Plan(seed)}
		for from := firstFault / 2; from < lastFault; from += 7 * firstFault / 3 {
			to := from + lastFault/4
			want, step := 0, lastFault/6000
			for at := from; at < to; at += step {
				calm := true
				for _, f := range w.Faults {
					calm = calm && (at < f.At || at >= f.At+f.For)
				}
				if calm {
					want++
				}
			}
			if got := w.calm(from, to); (got - step*time.Duration(want)).Abs() > step*time.Duration(2*len(w.Faults)+1) {
				t.Errorf("seed %d, from %v to %v: %v, expected %v", seed, from, to, got, step*time.Duration(want))
			}
		}
	}
}
