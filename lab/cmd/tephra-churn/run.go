package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"tephra.sh/lab"
	"tephra.sh/lab/churn"
	"tephra.sh/lab/e2e"
)

func runCommand() *cobra.Command {
	options := churn.Options{Seed: uint64(time.Now().UnixNano()), Gangs: 60, MostPods: 16, AtOnce: 40, Patience: time.Minute, Say: say}
	var nodes int
	var journal, segmentSize, logs string
	command := &cobra.Command{
		Use:   "run",
		Short: "Random gangs that run and end, while engine and scheduler are killed",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			wanted := e2e.Options{Nodes: nodes, Racks: max(1, nodes/8), EngineConfig: "log: { level: info }\n",
				SchedulerFlags: []string{"--min-interval=50ms", "-v=2"}}
			if journal != "" {
				wanted.EngineConfig += fmt.Sprintf("journal: { directory: %q, segment_size: %s, segments: 10000 }\n", journal, segmentSize)
			}
			say("seed %d", options.Seed)
			report, err := run(ctx, wanted, options, logs)
			if err != nil {
				return err
			}
			return print(command.OutOrStdout(), report)
		},
	}
	flags := command.Flags()
	flags.SortFlags = false
	flags.IntVar(&nodes, "nodes", 16, "fake nodes of eight GPUs; at least as many as --most-pods")
	flags.IntVar(&options.Gangs, "gangs", options.Gangs, "how many there are in all")
	flags.IntVar(&options.AtOnce, "at-once", options.AtOnce, "how many there are at a time, running and waiting")
	flags.Int32Var(&options.MostPods, "most-pods", options.MostPods, "pods of the largest gang")
	flags.IntVar(&options.Kills, "kills", 0, "how often the engine, the scheduler or both are killed")
	flags.Uint64Var(&options.Seed, "seed", options.Seed, "of everything random (default: the time)")
	flags.DurationVar(&options.Patience, "patience", options.Patience, "how long nothing may come to pass")
	flags.StringVar(&journal, "journal", "", "folder into which the engine records what goes in and out")
	flags.StringVar(&segmentSize, "segment-size", "1Mi", "size of one file there")
	flags.StringVar(&logs, "logs", "", "folder that keeps the logs of engine and scheduler")
	return command
}

func run(ctx context.Context, wanted e2e.Options, options churn.Options, logs string) (*churn.Report, error) {
	wanted.Lab = func(l *lab.Options) {
		l.ServiceAccountTokens = false
		options.GPUMemoryMiB = l.Nodes.GPUMemoryMiB
	}
	say("starting a control plane with %d nodes, the engine and the scheduler", wanted.Nodes)
	cluster, err := e2e.Start(ctx, wanted)
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	if logs != "" {
		defer keepLogs(cluster, logs)
	}
	say("submitting %d gangs", options.Gangs)
	return churn.Run(ctx, cluster, options)
}

func print(to io.Writer, report any) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err == nil {
		_, err = fmt.Fprintln(to, string(text))
	}
	return err
}
