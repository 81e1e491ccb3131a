package main

import (
	"bytes"
	"fmt"
	"os"
)

// cpuSeconds that a process has used; 0 where there is none.
func cpuSeconds(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may hold blanks. User and system time are fields 14 and 15, in ticks.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	var user, system float64
	if _, err := fmt.Sscan(string(fields[11])+" "+string(fields[12]), &user, &system); err != nil {
		return 0
	}
	const ticksPerSecond = 100 // Linux's, wherever Go runs
	return (user + system) / ticksPerSecond
}
