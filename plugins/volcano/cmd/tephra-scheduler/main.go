// Command tephra-scheduler is Volcano's scheduler with the action "tephra", which asks
// tephra-engine where gangs go. Stock actions and plugins stay selectable in the same configuration.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"k8s.io/apimachinery/pkg/util/validation"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	componentconfig "k8s.io/component-base/config/options"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/kube"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/signals"
	vcutil "volcano.sh/volcano/pkg/util"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/heap"
	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/scheduler"
)

// version is set by the build.
var version = "dev"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "tephra-scheduler:", err)
		os.Exit(1)
	}
}

func run() error {
	klog.InitFlags(nil)
	flags := pflag.CommandLine
	opt := options.NewServerOption()
	opt.AddFlags(flags)
	utilfeature.DefaultMutableFeatureGate.AddFlag(flags)
	vcutil.LeaderElectionDefault(&opt.LeaderElection)
	opt.LeaderElection.ResourceName = vcutil.GenerateComponentName(opt.SchedulerNames)
	componentconfig.BindLeaderElectionFlags(&opt.LeaderElection, flags)
	own := scheduler.Options{Client: "tephra-scheduler " + version}
	flags.StringVar(&own.EngineSocket, "engine-socket", "/run/tephra/engine.sock", "Unix socket of tephra-engine.")
	flags.DurationVar(&own.EngineTimeout, "engine-timeout", 30*time.Second, "How long one plan may take, including a full sync, before the scheduler treats the engine as gone.")
	flags.DurationVar(&own.MinInterval, "min-interval", 50*time.Millisecond, "Minimum time between the starts of two sessions of the whole cluster. A session opens when something has changed.")
	flags.BoolVar(&own.WholeSessions, "whole-sessions", false, "Open a Volcano session of the whole cluster for each plan. Without it, a session shows only the nodes and jobs of the plan, unless the configuration has other actions than tephra or other plugins than priority, gang, conformance and predicates.")
	flags.DurationVar(&own.Gather, "gather", time.Millisecond, "How long changes are gathered before a plan is asked for, where a session need not show the whole cluster.")
	flags.DurationVar(&own.WedgedAfter, "wedged-after", 10*time.Minute, "A session that runs for longer makes /healthz fail, so that the kubelet starts the scheduler again.")
	flags.StringVar(&own.MemoryConfigMap, "memory-config-map", "tephra-memory", `ConfigMap with the record of past usage, in the namespace of the scheduler's pod, or else of its lease; "" for none.`)
	flags.StringSliceVar(&own.DomainLabels, "domain-labels", nil, `Node labels that describe the topology, from the widest domain to the narrowest, separated by commas, such as "topology.kubernetes.io/zone,network.topology.nvidia.com/leaf". They do not apply to nodes in a HyperNode.`)
	flags.StringVar(&own.GPUTopologyLabel, "gpu-topology-label", facts.GPUTopologyLabel, `Node label. If its value is "default", the scheduler ignores the links between the node's GPUs; otherwise it prefers whole GPUs with the best links, as listed in the node's inventory. "" for none.`)
	devices := flags.String("device-resources", "", `File that says how pods ask for devices, read at start: resources, units, defaults (docs/reference/requests.md); "" for the built-in table.`)
	keys := flags.String("slices-keys", "", `Folder with the keys that sign the slices of pods, so that forged slices do not count (docs/how-to/install-node-plugin.md); "": slices count without a signature.`)
	admission := flags.String("admission", "engine", `What admits a pod group, so that its pods are created: "engine", or "volcano" for the stock action enqueue.`)
	gone := flags.String("when-engine-gone", "wait", `What the scheduler does while the engine does not answer: "wait" schedules nothing, "stock" runs Volcano's actions enqueue, allocate and backfill.`)
	flags.StringVar(&own.ProvisioningClass, "provisioning-class", "", `Class of the ProvisioningRequests (autoscaling.x-k8s.io/v1) that request nodes for gangs without pods, such as "best-effort-atomic-scale-up.autoscaling.x-k8s.io"; "" for none.`)
	flags.DurationVar(&own.ProvisioningDelay, "provisioning-delay", 30*time.Second, "How long a gang waits for room before nodes are requested for it.")
	flags.BoolVar(&own.PodGroups, "pod-groups", false, "Make PodGroups for JobSets, Indexed Jobs and pods with scheduling.volcano.sh/group-min-member, and give the PodGroups of other frameworks the annotations of their pods. tephra-admission needs --pod-groups too.")
	opt.RegisterOptions()
	cliflag.InitFlags()
	_ = flag.CommandLine.Parse(nil)

	if opt.PrintVersion {
		fmt.Println("tephra-scheduler", version)
		return nil
	}
	var err error
	if own.Admit, err = choice("admission", *admission, "engine", "volcano"); err != nil {
		return err
	}
	if own.DeviceResources, err = requests.Load(*devices); err != nil {
		return err
	}
	if *keys != "" {
		if own.SliceKeys, err = annotations.OpenKeys(*keys); err != nil {
			return fmt.Errorf("--slices-keys: %w", err)
		}
	}
	wait, err := choice("when-engine-gone", *gone, "wait", "stock")
	if err != nil {
		return err
	}
	own.FallBack = !wait
	if name := own.MemoryConfigMap; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--memory-config-map: %q, expected the name of a ConfigMap: lower-case letters, digits, '-' and '.'", name)
	}
	if name := own.ProvisioningClass; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--provisioning-class: %q, expected the name of a class: lower-case letters, digits, '-' and '.'", name)
	}
	if own.ProvisioningDelay < 0 {
		return fmt.Errorf("--provisioning-delay: %s, expected 0s or more", own.ProvisioningDelay)
	}
	if err := facts.CheckDomainLabels(own.DomainLabels); err != nil {
		return fmt.Errorf("--domain-labels: %w", err)
	}
	if err := facts.CheckNodeSelector(opt.NodeSelector); err != nil {
		return fmt.Errorf("--node-selector: %w", err)
	}
	if err := opt.CheckOptionOrDie(); err != nil {
		return err
	}
	if opt.CaCertFile != "" && opt.CertFile != "" && opt.KeyFile != "" {
		if err := opt.ParseCAFiles(nil); err != nil {
			return fmt.Errorf("certificates: %w", err)
		}
	}
	if err := heap.KeepBelow(); err != nil {
		return err
	}
	klog.StartFlushDaemon(5 * time.Second)
	defer klog.Flush()

	config, err := kube.BuildConfig(opt.KubeClientOptions)
	if err != nil {
		return err
	}
	if err := vcutil.SetupComponentGlobals(config); err != nil {
		return err
	}
	metrics.InitKubeSchedulerRelatedMetrics()
	lease, err := scheduler.NewLease(opt)
	if err != nil {
		return err
	}
	own.LeaseTerm = lease.Term
	s, err := scheduler.New(lease.Guard(config), opt, own)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(signals.SetupSignalContext())
	defer stop()
	ready := func() error {
		if lease.StandsBy() {
			return s.Follows()
		}
		return s.Ready()
	}
	if err := scheduler.Serve(ctx, opt, s.Healthy, ready); err != nil {
		return err
	}
	go s.Follow(ctx)
	if err := scheduler.Lead(ctx, config, opt, lease, s.Run); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// choice says whether the flag has the first of its two values.
func choice(flag, value, first, second string) (bool, error) {
	if value != first && value != second {
		return false, fmt.Errorf("--%s: %q, expected %q or %q", flag, value, first, second)
	}
	return value == first, nil
}
