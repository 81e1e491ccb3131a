package main

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"tephra.sh/lab"
	"tephra.sh/lab/churn"
	"tephra.sh/lab/e2e"
)

func failoverCommand() *cobra.Command {
	options := churn.Failover{Runs: 3, Gangs: 8, Running: 8, Say: say}
	var nodes int
	var logs string
	command := &cobra.Command{
		Use:   "failover",
		Short: "Let the leader of two schedulers fail while gangs are being bound, and take the time until the other binds",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			if options.Gangs < 2 {
				return fmt.Errorf("--gangs: %d, expected at least 2", options.Gangs)
			}
			say("starting a control plane with %d nodes", nodes)
			cluster, err := e2e.Start(ctx, e2e.Options{Nodes: nodes, Racks: max(1, nodes/32), SchedulerFlags: []string{"-v=2"}, Lab: func(l *lab.Options) {
				l.ServiceAccountTokens = false
				options.GPUMemoryMiB = l.Nodes.GPUMemoryMiB
			}})
			if err != nil {
				return err
			}
			defer cluster.Stop()
			if logs != "" {
				defer keepLogs(cluster, logs)
			}
			report, err := churn.FailOver(ctx, cluster, options)
			if err != nil {
				return err
			}
			return print(command.OutOrStdout(), report)
		},
	}
	flags := command.Flags()
	flags.SortFlags = false
	flags.IntVar(&nodes, "nodes", 100, "fake nodes of eight GPUs")
	flags.IntVar(&options.Running, "running", options.Running, "pods without a GPU that run on each node")
	flags.IntVar(&options.Runs, "runs", options.Runs, "how often the leader fails")
	flags.IntVar(&options.Gangs, "gangs", options.Gangs, "gangs of four pods for each fault, half of them submitted before it; at least 2")
	flags.BoolVar(&options.Pause, "pause", false, "pause the leader instead of killing it")
	flags.StringVar(&logs, "logs", "", "folder that keeps the logs of engines and schedulers")
	return command
}
