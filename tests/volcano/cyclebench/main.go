// Command cyclebench times a scheduler's cycle in process: Volcano's real cache and sessions, a sink
// where the API server would be, and stock Volcano, Tephra and a ready plan on equal clusters.
//
//	cyclebench [--nodes 500,1000] [--rounds 7] [--output markdown|json]
//	cyclebench latency [--nodes 1000,5000] [--jobs 300] [--rounds 3] [--output markdown|json]
//	cyclebench restart [--nodes 5000] [--pods 100000] [--output markdown|json]
//
// The engine's binary is ../../build/release/sidecar/tephra-engine or what TEPHRA_ENGINE names.
//
// Each timing is made by a process of its own, so that none inherits another's heap; those to be
// compared take turns.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// What manifests/base/deployment.yaml gives the scheduler; here for all kinds of work alike.
const collectAtPercent = 400

func main() {
	debug.SetGCPercent(collectAtPercent)
	// What Volcano logs would be part of what is timed.
	klog.SetLogger(logr.Discard())
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cyclebench:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	verb := "cycles"
	if len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") {
		verb, arguments = arguments[0], arguments[1:]
	}
	flags := flag.NewFlagSet("cyclebench "+verb, flag.ExitOnError)
	output := flags.String("output", "markdown", "markdown or json")
	switch verb {
	case "cycles":
		sizes := flags.String("nodes", "500,1000", "cluster sizes, by commas")
		rounds := flags.Int("rounds", 7, "runs of each kind; the median counts")
		_ = flags.Parse(arguments)
		nodes, err := numbers(*sizes)
		if err != nil {
			return fmt.Errorf("--nodes: %w", err)
		}
		report, err := compare(nodes, *rounds)
		if err != nil {
			return err
		}
		return show(*output, report, report.markdown)
	case "restart":
		var scale restartScale
		flags.IntVar(&scale.Nodes, "nodes", 5000, "nodes of 8 GPUs")
		flags.IntVar(&scale.Pods, "pods", 100000, "running pods")
		_ = flags.Parse(arguments)
		report, err := restart(scale)
		if err != nil {
			return err
		}
		return show(*output, report, report.markdown)
	case "latency":
		sizes := flags.String("nodes", "1000,5000", "cluster sizes, by commas")
		jobs := flags.Int("jobs", 300, "jobs of one pod that are timed")
		rounds := flags.Int("rounds", 3, "runs of each kind, by turns")
		_ = flags.Parse(arguments)
		nodes, err := numbers(*sizes)
		if err != nil {
			return fmt.Errorf("--nodes: %w", err)
		}
		report, err := latencies(nodes, *jobs, *rounds)
		if err != nil {
			return err
		}
		return show(*output, report, report.markdown)
	case "measure-latency": // of one kind, in this process
		var of waits
		flags.StringVar(&of.Kind, "kind", "", "stock, whole or narrow")
		flags.IntVar(&of.Nodes, "nodes", 100, "nodes of 8 GPUs")
		flags.IntVar(&of.Jobs, "jobs", 100, "jobs of one pod that are timed")
		flags.IntVar(&of.Gangs, "gangs", 5, "gangs of 512 that are timed")
		flags.StringVar(&of.Profile, "pprof", "", "file for a CPU profile")
		_ = flags.Parse(arguments)
		if err := of.measure(); err != nil {
			return fmt.Errorf("%s on %d nodes: %w", of.Kind, of.Nodes, err)
		}
		return json.NewEncoder(os.Stdout).Encode(of)
	case "measure": // one timing, in this process
		var work work
		flags.StringVar(&work.Kind, "kind", "", "stock, tephra, ready or standing")
		flags.IntVar(&work.Nodes, "nodes", 100, "nodes of 8 GPUs")
		flags.IntVar(&work.Rounds, "rounds", 7, "of the kind standing")
		flags.StringVar(&work.Plan, "plan", "", "file for the plan: tephra writes it, ready reads it")
		flags.StringVar(&work.Profile, "pprof", "", "file for a CPU profile of the cycle")
		_ = flags.Parse(arguments)
		result, err := measure(work)
		if err != nil {
			return fmt.Errorf("%s on %d nodes: %w", work.Kind, work.Nodes, err)
		}
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	return fmt.Errorf("unknown command %q, expected cycles or restart", verb)
}

func numbers(list string) ([]int, error) {
	var out []int
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q, expected a number above zero", text)
		}
		out = append(out, n)
	}
	return out, nil
}

func show(output string, report any, markdown func() string) error {
	switch output {
	case "json":
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	case "markdown":
		fmt.Print(markdown())
		return nil
	}
	return fmt.Errorf("--output %q, expected markdown or json", output)
}
