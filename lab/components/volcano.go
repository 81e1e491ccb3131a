package components

import (
	"flag"
	"os"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	componentconfig "k8s.io/component-base/config"
	componentoptions "k8s.io/component-base/config/options"
	"k8s.io/klog/v2"
	controllermanager "volcano.sh/volcano/cmd/controller-manager/app"
	controllermanageroptions "volcano.sh/volcano/cmd/controller-manager/app/options"
	scheduler "volcano.sh/volcano/cmd/scheduler/app"
	scheduleroptions "volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/controllers/colocationconfig"
	_ "volcano.sh/volcano/pkg/controllers/cronjob"
	"volcano.sh/volcano/pkg/controllers/framework"
	_ "volcano.sh/volcano/pkg/controllers/garbagecollector"
	_ "volcano.sh/volcano/pkg/controllers/hypernode"
	_ "volcano.sh/volcano/pkg/controllers/job"
	_ "volcano.sh/volcano/pkg/controllers/jobflow"
	_ "volcano.sh/volcano/pkg/controllers/jobtemplate"
	_ "volcano.sh/volcano/pkg/controllers/podgroup"
	_ "volcano.sh/volcano/pkg/controllers/queue"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/util"
)

// Volcano's mains cannot be imported, only what they call; these two repeat their order of calls.

func volcanoControllers() {
	forgetFlags()
	if err := framework.RegisterController(&latePodGroups{}); err != nil {
		end(err)
	}
	options := controllermanageroptions.NewServerOption()
	var names []string
	framework.ForeachController(func(c framework.Controller) {
		names = append(names, c.Name())
		if provider, ok := c.(framework.FlagProvider); ok {
			provider.AddFlags(pflag.CommandLine)
		}
	})
	options.AddFlags(pflag.CommandLine, names)
	parseVolcanoFlags(&options.LeaderElection, "vc-controller-manager")
	if err := options.CheckOptionOrDie(); err != nil {
		end(err)
	}
	end(controllermanager.Run(options))
}

func volcanoScheduler() {
	forgetFlags()
	options := scheduleroptions.NewServerOption()
	options.AddFlags(pflag.CommandLine)
	options.RegisterOptions() // the scheduler reads them as a package variable
	parseVolcanoFlags(&options.LeaderElection, "vc-scheduler")
	if err := options.CheckOptionOrDie(); err != nil {
		end(err)
	}
	end(scheduler.Run(options))
}

// forgetFlags empties the process-wide flag set that Volcano's programs parse: other components' packages,
// in this binary too, have put their own flags there.
func forgetFlags() { pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError) }

// parseVolcanoFlags parses the command line into what was registered on pflag.CommandLine, the flags
// that all of Volcano's programs share included. The scheduler looks klog's flags up by name.
func parseVolcanoFlags(election *componentconfig.LeaderElectionConfiguration, lease string) {
	klog.InitFlags(flag.CommandLine)
	utilfeature.DefaultMutableFeatureGate.AddFlag(pflag.CommandLine)
	if election != nil {
		util.LeaderElectionDefault(election)
		election.ResourceName = lease
		componentoptions.BindLeaderElectionFlags(election, pflag.CommandLine)
	}
	cliflag.InitFlags()
}
