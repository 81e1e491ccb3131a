package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"tephra.sh/lab"
	"tephra.sh/lab/churn"
	"tephra.sh/lab/e2e"
)

func singleCommand() *cobra.Command {
	options := churn.Singles{Runs: 20, Running: 8, Say: say}
	var nodes int
	var logs string
	command := &cobra.Command{
		Use:   "single",
		Short: "Submit single-pod jobs one after the other to a busy cluster, and take the time until each is bound",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			say("starting a control plane with %d nodes", nodes)
			cluster, err := e2e.Start(ctx, e2e.Options{Nodes: nodes, Racks: max(1, nodes/32), SchedulerFlags: []string{"-v=2"},
				Lab: func(l *lab.Options) { l.ServiceAccountTokens = false }})
			if err != nil {
				return err
			}
			defer cluster.Stop()
			if logs != "" {
				defer keepLogs(cluster, logs)
			}
			report, err := churn.Single(ctx, cluster, options)
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
	flags.IntVar(&options.Runs, "runs", options.Runs, "how many jobs are submitted")
	flags.StringVar(&logs, "logs", "", "folder that keeps the logs of engine and scheduler")
	return command
}
