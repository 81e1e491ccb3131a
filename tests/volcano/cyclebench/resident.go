package main

import (
	"fmt"
	"os"
)

// residentMiB is the memory of a process that is in use now; 0 for this one.
func residentMiB(pid int) float64 {
	path := "/proc/self/statm"
	if pid != 0 {
		path = fmt.Sprintf("/proc/%d/statm", pid)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0
	}
	return float64(resident*os.Getpagesize()) / (1 << 20)
}
