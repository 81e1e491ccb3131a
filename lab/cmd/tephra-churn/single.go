package main

import (
	"context"

	"github.com/spf13/cobra"
	"tephra.sh/lab/churn"
	"tephra.sh/lab/e2e"
)

func singleCommand() *cobra.Command {
	options := churn.Singles{Runs: 20, Say: say}
	var on busy
	command := &cobra.Command{
		Use:   "single",
		Short: "Submit single-pod jobs one after the other to a busy cluster, and take the time until each is bound",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return on.run(command, func(ctx context.Context, cluster *e2e.Cluster, pods int) (any, error) {
				report, err := churn.Single(ctx, cluster, options)
				if err != nil {
					return nil, err
				}
				report.Pods = pods
				return report, nil
			})
		},
	}
	on.flags(command)
	command.Flags().IntVar(&options.Runs, "runs", options.Runs, "how many jobs are submitted")
	return command
}
