// Command kubectl-tephra holds the commands of Tephra that read a cluster through its API server. kubectl runs it as
// `kubectl tephra`, and `tephra` runs it for commands of its own that need the API server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"tephra.sh/volcano/migrate"
	"tephra.sh/volcano/requests"
)

// version is set by the build.
var version = "dev"

const usage = `Reads a cluster with HAMi, NVIDIA's device plugin, Volcano's vGPU plugin or KAI, and lists what a move to Tephra changes and what
blocks it. It changes nothing. It needs the right to list the objects.

Usage: kubectl tephra migrate check [FLAGS]
`

const exits = `
Exit codes: 0 nothing blocks; 1 something blocks; 2 bad input or usage; 3 the API server cannot be read.
`

// Exit codes.
const (
	blocked    = 1
	badUsage   = 2
	unreadable = 3
)

func main() { os.Exit(run(os.Args[1:])) }

func run(arguments []string) int {
	flags := pflag.NewFlagSet("kubectl-tephra", pflag.ContinueOnError)
	flags.SortFlags = false
	kubeconfig := flags.String("kubeconfig", "", "Path of the kubeconfig; default: $KUBECONFIG, then ~/.kube/config.")
	kubeContext := flags.String("context", "", "Context of the kubeconfig; default: its current one.")
	files := flags.StringArrayP("filename", "f", nil, "Read this output of kubectl get -A -o yaml instead of the API server; - for standard input. May be repeated.")
	mode := flags.String("mode", string(migrate.Beside), `The overlay that the cluster moves to: "beside" or "replace".`)
	form := flags.StringP("output", "o", "table", `"table" or "json".`)
	devices := flags.String("device-resources", "", `File that defines how pods ask for devices, the same as for tephra-scheduler; "" for the built-in table.`)
	printVersion := flags.Bool("version", false, "Print the version and exit.")
	flags.Usage = func() { fmt.Print(usage + "\n" + flags.FlagUsages() + exits) }
	fail := func(code int, format string, values ...any) int {
		fmt.Fprintf(os.Stderr, "kubectl tephra: "+format+"\n", values...)
		return code
	}
	err := flags.Parse(arguments)
	switch command := flags.Args(); {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		return fail(badUsage, "%v", err)
	case *printVersion:
		fmt.Println("kubectl-tephra", version)
		return 0
	case len(command) != 2 || command[0] != "migrate" || command[1] != "check":
		return fail(badUsage, "command %q, expected migrate check; --help lists the flags", command)
	case *mode != string(migrate.Beside) && *mode != string(migrate.Replace):
		return fail(badUsage, `--mode: %q, expected "beside" or "replace"`, *mode)
	case *form != "table" && *form != "json":
		return fail(badUsage, `--output: %q, expected "table" or "json"`, *form)
	}
	table, err := requests.Load(*devices)
	if err != nil {
		return fail(badUsage, "--device-resources: %v", err)
	}
	cluster := &migrate.Cluster{}
	if len(*files) > 0 {
		if err := cluster.AddFiles(*files); err != nil {
			return fail(badUsage, "--filename: %v", err)
		}
	} else {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = *kubeconfig
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: *kubeContext}).ClientConfig()
		if err != nil {
			return fail(badUsage, "%v", err)
		}
		config.QPS, config.Burst = 50, 100
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return fail(badUsage, "%v", err)
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := cluster.Read(ctx, client); err != nil {
			return fail(unreadable, "%v", err)
		}
	}
	report, err := migrate.Check(cluster, migrate.Mode(*mode), table)
	if err != nil {
		return fail(badUsage, "%v", err)
	}
	if err := report.Write(os.Stdout, *form); err != nil {
		return fail(badUsage, "%v", err)
	}
	if report.Blocks > 0 {
		return blocked
	}
	return 0
}
