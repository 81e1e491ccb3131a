package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"tephra.sh/lab"
	"tephra.sh/lab/churn"
	"tephra.sh/lab/e2e"
)

// busy is a command on a cluster with many pods that run.
type busy struct {
	nodes   int
	running int
	logs    string
}

func (b *busy) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.SortFlags = false
	flags.IntVar(&b.nodes, "nodes", 100, "fake nodes of eight GPUs")
	flags.IntVar(&b.running, "running", 8, "pods without a GPU that run on each node")
	flags.StringVar(&b.logs, "logs", "", "folder that keeps the logs of engines and schedulers")
}

// run starts the cluster, and prints what `measure` found on it. `pods` is how many run.
func (b *busy) run(command *cobra.Command, measure func(ctx context.Context, cluster *e2e.Cluster, pods int) (any, error)) error {
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	say("starting a control plane with %d nodes", b.nodes)
	cluster, err := e2e.Start(ctx, e2e.Options{Nodes: b.nodes, Racks: max(1, b.nodes/32),
		SchedulerFlags: []string{churn.FewLogs}, Lab: func(l *lab.Options) { l.ServiceAccountTokens = false }})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	if b.logs != "" {
		defer keepLogs(cluster, b.logs)
	}
	pods, err := churn.Fill(ctx, cluster, b.running)
	if err != nil {
		return err
	}
	say("%d pods run", pods)
	report, err := measure(ctx, cluster, pods)
	if err != nil {
		return err
	}
	return print(command.OutOrStdout(), report)
}
