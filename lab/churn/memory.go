package churn

import (
	"context"
	"fmt"
	"os"
	"time"

	"tephra.sh/lab/e2e"
)

// Memory is what a program's processes held at most, in MiB, in the middle fifth of a run and in its
// last fifth.
type Memory struct {
	Middle float64 `json:"middle_mib"`
	End    float64 `json:"end_mib"`
}

// sampler notes the resident memory of one program again and again.
type sampler struct {
	process *e2e.Process
	samples []float64
}

func (s *sampler) run(ctx context.Context) {
	for sleep(ctx, 100*time.Millisecond) {
		s.samples = append(s.samples, residentMiB(s.process.Pid()))
	}
}

func (s *sampler) memory() Memory {
	count := len(s.samples)
	most := func(samples []float64) (most float64) {
		for _, one := range samples {
			most = max(most, one)
		}
		return most
	}
	return Memory{most(s.samples[count*2/5 : count*3/5]), most(s.samples[count*4/5:])}
}

// residentMiB of a process; 0 where it does not run.
func residentMiB(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, pages int64
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return float64(pages) * float64(os.Getpagesize()) / (1 << 20)
}
