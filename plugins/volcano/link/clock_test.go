package link

import (
	"testing"
	"time"

	pb "tephra.sh/volcano/tephrav1"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ticks reads the clock once a second while the wall clock is off by so much, and returns the last time, as what it is off,
// and how often it went back.
func ticks(c *clock, steady *time.Duration, seconds int, off time.Duration) (by time.Duration, backs int) {
	for range seconds {
		*steady += time.Second
		now, back := c.read(start.Add(*steady+off), *steady)
		if back {
			backs++
		}
		by = now.Sub(start.Add(*steady))
	}
	return by, backs
}

func TestTheClockFollowsTheWallClockButNotItsJumps(t *testing.T) {
	type step struct {
		seconds   int
		off, want time.Duration
		backs     int
	}
	for name, steps := range map[string][]step{
		"it goes on":                          {{100, 0, 0, 0}},
		"it drifts":                           {{10, time.Second, time.Second, 0}, {10, 2 * time.Second, 2 * time.Second, 0}, {10, 0, 0, 0}},
		"it is set back a little":             {{10, 0, 0, 0}, {1, -5 * time.Second, -time.Second, 0}, {10, -5 * time.Second, -5 * time.Second, 0}},
		"ahead for less than a minute":        {{10, 0, 0, 0}, {59, 10 * time.Hour, 0, 0}, {10, 0, 0, 0}},
		"back for less than a minute":         {{10, 0, 0, 0}, {59, -10 * time.Hour, 0, 0}, {10, 0, 0, 0}},
		"ahead, and it stays there":           {{10, 0, 0, 0}, {61, 10 * time.Hour, 10 * time.Hour, 0}, {10, 10 * time.Hour, 10 * time.Hour, 0}},
		"ahead for an hour, and back":         {{10, 0, 0, 0}, {3600, 10 * time.Hour, 10 * time.Hour, 0}, {61, 0, 0, 1}, {100, 0, 0, 0}},
		"back, and it stays there":            {{10, 0, 0, 0}, {61, -10 * time.Hour, -10 * time.Hour, 1}, {10, -10 * time.Hour, -10 * time.Hour, 0}},
		"each jump has a minute of its own":   {{10, 0, 0, 0}, {50, time.Hour, 0, 0}, {50, -time.Hour, 0, 0}, {50, 2 * time.Hour, 0, 0}, {10, 0, 0, 0}},
		"a second jump while the first is on": {{10, 0, 0, 0}, {50, time.Hour, 0, 0}, {61, 2 * time.Hour, 2 * time.Hour, 0}},
	} {
		c, steady := &clock{}, time.Duration(0)
		for i, step := range steps {
			if by, backs := ticks(c, &steady, step.seconds, step.off); by != step.want || backs != step.backs {
				t.Errorf("%s, step %d: off by %v after %d times back, expected %v, %d", name, i, by, backs, step.want, step.backs)
			}
		}
	}
}

func TestAnEngineWhoseTimeGoesBackStartsWithAFullSync(t *testing.T) {
	engine := &script{}
	var sent []int64
	engine.onRequest = func(request *pb.CycleRequest) { sent = append(sent, request.GetNowMs()) }
	_, l := serve(t, engine)
	steady := time.Duration(0)
	l.steady = func() time.Duration { return steady }
	at := func(wall time.Duration) {
		t.Helper()
		if _, err := l.Cycle(t.Context(), start.Add(wall)); err != nil {
			t.Fatal(err)
		}
	}
	at(10 * time.Hour) // wrong from the start
	for ; steady <= 2*time.Minute; steady += 10 * time.Second {
		at(steady)
	}
	if l.Syncs() != 2 {
		t.Errorf("%d syncs, expected the first one and one when the time went back", l.Syncs())
	}
	if last := time.UnixMilli(sent[len(sent)-1]).Sub(start); last != 2*time.Minute {
		t.Errorf("the engine's time is %v after the start, expected 2m", last)
	}
	if err := cycle(t, l); err != nil {
		t.Error(err)
	}
}
