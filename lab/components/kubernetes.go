package components

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics, as upstream's mains have them
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func etcd()                  { etcdmain.Main(os.Args) }
func kubeAPIServer()         { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) }
func kubeControllerManager() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) }
func kubeScheduler()         { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) }
