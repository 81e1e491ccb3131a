package sink

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Cost is what a piece of work took.
type Cost struct {
	Wall   time.Duration `json:"wall"`
	CPU    time.Duration `json:"cpu"`    // of this process and of the engine
	Engine time.Duration `json:"engine"` // of that, the engine's
}

// CPUCLOCK_SCHED of the kernel: a process's clock that counts what its threads were given.
const processClock = 2

// processCPU is the CPU time of another process so far, to the nanosecond.
func processCPU(pid int) (time.Duration, error) {
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|processClock), &at); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(at.Nano()), nil
}

func ownCPU() (time.Duration, error) {
	var at unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at)
	return time.Duration(at.Nano()), err
}

// spent is what has been used until now; the wall clock is not read.
func spent(engine *Engine) (Cost, error) {
	own, err := ownCPU()
	if err != nil || engine == nil {
		return Cost{CPU: own}, err
	}
	other, err := processCPU(engine.Pid())
	return Cost{CPU: own + other, Engine: other}, err
}

// Measure runs the work on a heap without garbage. A nil engine costs nothing.
func Measure(engine *Engine, work func()) (Cost, error) {
	runtime.GC()
	before, err := spent(engine)
	if err != nil {
		return Cost{}, err
	}
	began := time.Now()
	work()
	wall := time.Since(began)
	after, err := spent(engine)
	return Cost{wall, after.CPU - before.CPU, after.Engine - before.Engine}, err
}
