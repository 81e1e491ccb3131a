package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"tephra.sh/lab"
	"tephra.sh/lab/churn"
	"tephra.sh/lab/e2e"
)

// bound is what one run of `bind` reports.
type bound struct {
	Scheduler string `json:"scheduler"`
	*churn.Times
	CPU map[string]float64 `json:"cpu_s"` // of each process, from the first submission on
}

func bindCommand() *cobra.Command {
	load := churn.Load{Gangs: 50, Pods: 16, Say: say}
	var nodes int
	var scheduler, logs string
	var flags []string
	command := &cobra.Command{
		Use:   "bind",
		Short: "Submit many gangs of one-GPU pods to an empty cluster and take the time until all are bound",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			wanted := e2e.Options{Nodes: nodes, Racks: max(1, nodes/32), EngineConfig: "log: { level: info }\n",
				Lab: func(l *lab.Options) { l.ServiceAccountTokens = false }}
			wanted.SchedulerFlags = append([]string{"--min-interval=50ms", "-v=2", "--enable-pprof"}, flags...)
			say("starting a control plane with %d nodes", nodes)
			var report *bound
			var err error
			switch scheduler {
			case "tephra":
				report, err = bindOurs(ctx, wanted, load, logs)
			case "stock", "none", "floor":
				load.Admit = scheduler != "stock"
				if scheduler == "floor" {
					shape := lab.Defaults().Nodes
					for i := range nodes {
						load.Nodes = append(load.Nodes, shape.Name(i))
					}
				}
				report, err = bindStock(ctx, wanted, load)
			default:
				err = fmt.Errorf("scheduler %q: expected tephra, stock, floor or none", scheduler)
			}
			if err != nil {
				return err
			}
			report.Scheduler = scheduler
			return print(command.OutOrStdout(), report)
		},
	}
	set := command.Flags()
	set.SortFlags = false
	set.StringVar(&scheduler, "scheduler", "tephra", "tephra; stock for Volcano's own; floor for one that binds each pod at once and decides nothing; none for the controllers alone")
	set.IntVar(&nodes, "nodes", 100, "fake nodes of eight GPUs")
	set.IntVar(&load.Gangs, "gangs", load.Gangs, "how many are submitted")
	set.Int32Var(&load.Pods, "pods", load.Pods, "pods of each, with one GPU each")
	set.StringArrayVar(&flags, "scheduler-flag", nil, "one more flag for tephra-scheduler")
	set.StringVar(&logs, "logs", "", "folder that keeps the logs of engine and scheduler")
	return command
}

func bindOurs(ctx context.Context, wanted e2e.Options, load churn.Load, logs string) (*bound, error) {
	cluster, err := e2e.Start(ctx, wanted)
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	if logs != "" {
		defer keepLogs(cluster, logs)
	}
	pids := cluster.Lab.Components()
	pids["tephra-engine"], pids["tephra-scheduler"] = cluster.Engine.Pid(), cluster.Scheduler.Pid()
	say("the scheduler serves /debug/pprof at %s", cluster.Scheduler.Address)
	return bind(ctx, cluster.Config, load, pids)
}

// bindStock runs the lab with its own scheduler, or with none.
func bindStock(ctx context.Context, wanted e2e.Options, load churn.Load) (*bound, error) {
	programs, err := wanted.Programs.Found()
	if err != nil {
		return nil, err
	}
	options := lab.Defaults()
	wanted.Lab(&options)
	options.Binary = programs.Lab
	options.Nodes.Count, options.Nodes.Racks = wanted.Nodes, wanted.Racks
	options.StockScheduler = !load.Admit
	running, err := lab.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	defer running.Stop()
	return bind(ctx, running.Config, load, running.Components())
}

func bind(ctx context.Context, config *rest.Config, load churn.Load, pids map[string]int) (*bound, error) {
	before := map[string]float64{}
	for name, pid := range pids {
		before[name] = cpuSeconds(pid)
	}
	say("submitting %d gangs of %d pods", load.Gangs, load.Pods)
	times, err := churn.Bind(ctx, config, load)
	if err != nil {
		return nil, err
	}
	report := &bound{Times: times, CPU: map[string]float64{}}
	for name, pid := range pids {
		report.CPU[name] = cpuSeconds(pid) - before[name]
	}
	return report, nil
}
