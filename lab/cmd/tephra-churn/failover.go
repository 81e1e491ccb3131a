package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"tephra.sh/lab/churn"
	"tephra.sh/lab/e2e"
)

func failoverCommand() *cobra.Command {
	options := churn.Failover{Runs: 3, Gangs: 8, Say: say}
	var on busy
	command := &cobra.Command{
		Use:   "failover",
		Short: "Let the leader of two schedulers fail while gangs are being bound, and take the time until the other binds",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if options.Gangs < 2 {
				return fmt.Errorf("--gangs: %d, expected at least 2", options.Gangs)
			}
			return on.run(command, func(ctx context.Context, cluster *e2e.Cluster, pods int) (any, error) {
				report, err := churn.FailOver(ctx, cluster, options)
				if err != nil {
					return nil, err
				}
				report.Pods = pods
				return report, nil
			})
		},
	}
	on.flags(command)
	flags := command.Flags()
	flags.IntVar(&options.Runs, "runs", options.Runs, "how often the leader fails")
	flags.IntVar(&options.Gangs, "gangs", options.Gangs, "gangs of four pods for each fault, half of them submitted before it; at least 2")
	flags.BoolVar(&options.Pause, "pause", false, "pause the leader instead of killing it")
	return command
}
