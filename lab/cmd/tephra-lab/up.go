package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"tephra.sh/lab"
)

func upCommand() *cobra.Command {
	options := lab.Defaults()
	var memory string
	var queues, classes []string
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and keep it until interrupted",
		Long: "Starts a lab and keeps it until SIGINT or SIGTERM. Progress goes to standard error. When Jobs can\n" +
			"be submitted, one line of JSON goes to standard output and into the file \"ready\" in the lab's folder.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if options.Nodes.Memory, err = resource.ParseQuantity(memory); err != nil {
				return fmt.Errorf("memory %q: %w", memory, err)
			}
			if options.Queues, err = parseAll(queues, lab.ParseQueue); err != nil {
				return err
			}
			if options.PriorityClasses, err = parseAll(classes, lab.ParsePriorityClass); err != nil {
				return err
			}
			options.Progress = os.Stderr
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return up(ctx, options)
		},
	}
	flags := command.Flags()
	flags.SortFlags = false
	nodes := &options.Nodes
	flags.IntVar(&nodes.Count, "nodes", nodes.Count, "fake nodes")
	flags.IntVar(&nodes.Racks, "racks", nodes.Racks, "racks that they stand in; each is a HyperNode")
	flags.IntVar(&nodes.GPUs, "gpus", nodes.GPUs, "GPUs of each node")
	flags.StringVar(&nodes.GPUModel, "gpu-model", nodes.GPUModel, "their model")
	flags.Int64Var(&nodes.GPUMemoryMiB, "gpu-memory", nodes.GPUMemoryMiB, "memory of each GPU, in MiB")
	flags.Int64Var(&nodes.CPUs, "cpus", nodes.CPUs, "CPUs of each node")
	flags.StringVar(&memory, "memory", nodes.Memory.String(), "memory of each node")
	flags.Int64Var(&nodes.Pods, "pods", nodes.Pods, "pods that fit on each node")
	flags.StringSliceVar(&queues, "queues", []string{"research", "production"}, "Volcano queues below root, NAME or NAME=WEIGHT")
	flags.StringSliceVar(&classes, "priority-classes", []string{"low=100", "normal=1000", "high=10000"}, "priority classes, NAME=VALUE")
	flags.StringSliceVar(&options.SchedulerNames, "scheduler-name", options.SchedulerNames, "whose pods Volcano's controllers look after")
	flags.BoolVar(&options.Admission, "admission", options.Admission, "run Volcano's webhooks")
	flags.BoolVar(&options.ServiceAccountTokens, "service-account-tokens", options.ServiceAccountTokens, "give each pod the usual token volume")
	flags.BoolVar(&options.StockScheduler, "stock-scheduler", false, "run Volcano's own scheduler")
	flags.StringVar(&options.StockSchedulerConfig, "stock-scheduler-conf", "", "its configuration file (default: Volcano's own)")
	flags.StringArrayVar(&options.StockSchedulerFlags, "stock-scheduler-flag", nil, "one more flag for it")
	flags.BoolVar(&options.KubeScheduler, "kube-scheduler", false, "run the default scheduler")
	flags.StringArrayVar(&options.APIServerFlags, "apiserver-flag", nil, "one more flag for kube-apiserver")
	flags.StringArrayVar(&options.ControllerManagerFlags, "controller-manager-flag", nil, "one more flag for kube-controller-manager")
	flags.StringVar(&options.Dir, "dir", "", "empty or absent folder for data, logs and kubeconfig (default: a temporary one)")
	flags.BoolVar(&options.Keep, "keep", false, "keep that folder at the end")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "one more file to write the kubeconfig to; must not exist, removed at the end")
	return command
}

func up(ctx context.Context, options lab.Options) error {
	if options.Kubeconfig != "" {
		absolute, err := filepath.Abs(options.Kubeconfig)
		if err != nil {
			return err
		}
		options.Kubeconfig = absolute
	}
	begin := time.Now()
	running, err := lab.Start(ctx, options)
	if err != nil {
		return err
	}
	defer running.Stop()
	if err := announce(running, options, time.Since(begin)); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "lab: stopping")
		return nil
	case err := <-running.Failed():
		return err
	}
}

// announce says that the lab is ready: to readers of standard output, and to programs that wait for the
// file, which appears whole.
func announce(running *lab.Lab, options lab.Options, took time.Duration) error {
	kubeconfig := running.Kubeconfig
	if options.Kubeconfig != "" {
		kubeconfig = options.Kubeconfig
	}
	line, err := json.Marshal(map[string]any{
		"ready": true, "kubeconfig": kubeconfig, "server": running.Config.Host, "dir": running.Dir,
		"pid": os.Getpid(), "seconds": took.Seconds(),
	})
	if err != nil {
		return err
	}
	file := filepath.Join(running.Dir, "ready")
	if err := os.WriteFile(file+".new", append(line, '\n'), 0o600); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "lab: ready after %.1f s; KUBECONFIG=%s\n", took.Seconds(), kubeconfig)
	_, err = fmt.Println(string(line))
	return err
}

func parseAll[T any](texts []string, parse func(string) (T, error)) (all []T, err error) {
	for _, text := range texts {
		one, err := parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
