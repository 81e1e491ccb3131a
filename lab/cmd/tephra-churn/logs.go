package main

import (
	"os"
	"path/filepath"

	"tephra.sh/lab/e2e"
)

// keepLogs copies what engine and scheduler wrote.
func keepLogs(cluster *e2e.Cluster, folder string) {
	err := os.MkdirAll(folder, 0o755)
	for _, process := range []*e2e.Process{cluster.Engine.Process, cluster.Scheduler.Process} {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, process.Name+".log"), []byte(process.Said()), 0o644)
		}
	}
	if err != nil {
		say("logs: %v", err)
	}
}
