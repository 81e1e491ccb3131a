package components

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	nodestage "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podstage "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/client"
	"sigs.k8s.io/yaml"
	"tephra.sh/lab"
)

// How a pod ends and goes. KWOK's own pod-complete stage is left out: it ends every pod that an object of the
// kind "Job" owns after a moment, Volcano's Jobs included.
//
//go:embed stages/*.yaml
var endings embed.FS

// nodes plays the kubelets of all fake nodes: a bound pod becomes Running at once, ends when its
// annotations say so, and goes when it is deleted. No Leases: nothing in a lab judges nodes by them.
func nodes() {
	kubeconfig := pflag.String("kubeconfig", "", "path to the kubeconfig file")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx = log.NewContext(ctx, log.NewLogger(os.Stderr, slog.LevelWarn))

	config, err := kwokConfig(*kubeconfig)
	if err != nil {
		end(fmt.Errorf("nodes: %w", err))
	}
	controller, err := controllers.NewController(config)
	if err != nil {
		end(fmt.Errorf("nodes: %w", err))
	}
	if err := controller.Start(ctx); err != nil {
		end(fmt.Errorf("nodes: %w", err))
	}
	<-ctx.Done()
}

func kwokConfig(kubeconfig string) (config controllers.Config, err error) {
	config = controllers.Config{
		Clock:                             clock.RealClock{},
		ManageNodesWithAnnotationSelector: lab.FakeNodeAnnotation + "=fake",
		CIDR:                              "10.64.0.0/10",
		NodeIP:                            "127.0.0.1",
		PodPlayStageParallelism:           16,
		NodePlayStageParallelism:          4,
		PodsOnNodeSyncParallelism:         4,
	}
	if config.LocalStages, err = stages(); err != nil {
		return config, err
	}
	if config.ID, err = controllers.Identity(); err != nil {
		return config, err
	}
	clients, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return config, err
	}
	config.ImpersonatingDynamicClient = clients.ToImpersonatingDynamicClient()
	config.ImpersonatingTypedClient = clients.ToImpersonatingTypedClient()
	if config.DynamicClient, err = clients.ToDynamicClient(); err != nil {
		return config, err
	}
	if config.RESTMapper, err = clients.ToRESTMapper(); err != nil {
		return config, err
	}
	restConfig, err := clients.ToRESTConfig()
	if err != nil {
		return config, err
	}
	if config.RESTClient, err = rest.RESTClientFor(restConfig); err != nil {
		return config, err
	}
	if config.TypedClient, err = kubernetes.NewForConfig(restConfig); err != nil {
		return config, err
	}
	config.TypedKwokClient, err = versioned.NewForConfig(restConfig)
	return config, err
}

// stages are the steps of a played node's and a played pod's life.
func stages() (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	documents := []string{nodestage.DefaultNodeInit, podstage.DefaultPodReady}
	files, err := fs.Glob(endings, "stages/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := endings.ReadFile(file)
		if err != nil {
			return nil, err
		}
		documents = append(documents, string(text))
	}
	all := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, document := range documents {
		var external v1alpha1.Stage
		if err := yaml.UnmarshalStrict([]byte(document), &external); err != nil {
			return nil, fmt.Errorf("stage: %w", err)
		}
		v1alpha1.SetObjectDefaults_Stage(&external)
		stage, err := internalversion.ConvertToInternalStage(&external)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %w", external.Name, err)
		}
		all[stage.Spec.ResourceRef] = append(all[stage.Spec.ResourceRef], stage)
	}
	return all, nil
}
