package link

import "time"

const (
	// A wall clock that is set by less is followed at once. The engine's time then stands still until the clock has caught
	// up, or goes on from there.
	mostStep = 10 * time.Second
	// A wall clock that was set by more is followed once it has shown its new time for so long.
	trustedAfter = time.Minute
)

// clock is the engine's time. It follows the wall clock, because nodes and the API server write down that clock's
// times. It follows a steady clock while the wall clock jumps: a jump ahead that ends within a minute
// would otherwise end assumptions and runs before their time, and stop the engine's time for as long as the jump was.
type clock struct {
	begun  bool
	now    time.Time     // of the last plan
	steady time.Duration // then

	doubted time.Duration // steady, since which the wall clock is off
	off     time.Duration // by so much; 0: it is not
}

// read is the time of the next plan. back: it is before that of the last one, so the engine has to start with a full
// sync.
func (c *clock) read(wall time.Time, steady time.Duration) (now time.Time, back bool) {
	if !c.begun {
		*c = clock{begun: true, now: wall, steady: steady}
		return wall, false
	}
	expected := c.now.Add(max(steady-c.steady, 0))
	off := wall.Sub(expected)
	switch {
	case off.Abs() <= mostStep:
		c.off = 0
		if now = wall; wall.Before(c.now) {
			now = c.now
		}
	case c.off == 0 || (off-c.off).Abs() > mostStep: // it was set just now, or once more
		c.off, c.doubted, now = off, steady, expected
	case steady-c.doubted < trustedAfter:
		now = expected
	default:
		c.off, now = 0, wall
		back = wall.Before(c.now)
	}
	c.now, c.steady = now, steady
	return now, back
}
