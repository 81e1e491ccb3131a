package components

import (
	"context"
	"strings"

	"github.com/spf13/pflag"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	webhookmanager "volcano.sh/volcano/cmd/webhook-manager/app"
	"volcano.sh/volcano/cmd/webhook-manager/app/options"
	"volcano.sh/volcano/pkg/kube"
	_ "volcano.sh/volcano/pkg/webhooks/admission/cronjobs/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/hypernodes/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobflows/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/jobs/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/podgroups/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/podgroups/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/pods/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/pods/validate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/queues/mutate"
	_ "volcano.sh/volcano/pkg/webhooks/admission/queues/validate"
	"volcano.sh/volcano/pkg/webhooks/router"
)

// volcanoAdmission serves Volcano's webhooks at --webhook-url. Volcano's chart registers them with
// the API server by a Service's name; in a lab there is no Service, so they are registered by URL.
func volcanoAdmission() {
	forgetFlags()
	config := options.NewConfig()
	config.AddFlags(pflag.CommandLine)
	parseVolcanoFlags(nil, "")
	if err := config.CheckPortOrDie(); err != nil {
		end(err)
	}
	if err := config.ParseCAFiles(nil); err != nil {
		end(err)
	}
	if err := registerWebhooks(config); err != nil {
		end(err)
	}
	end(webhookmanager.Run(config))
}

func registerWebhooks(config *options.Config) error {
	rest, err := kube.BuildConfig(config.KubeClientOptions)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return err
	}
	api, ctx := client.AdmissionregistrationV1(), context.Background()
	return router.ForEachAdmission(config, func(service *router.AdmissionService) error {
		at := endpoint{
			name:    "volcano-admission-service" + strings.ReplaceAll(service.Path, "/", "-"), // the webhook manager looks for this
			address: config.WebhookURL + service.Path,
			ca:      config.CaCertData,
		}
		var err error
		if service.MutatingConfig != nil {
			_, err = api.MutatingWebhookConfigurations().Create(ctx, at.mutating(service.MutatingConfig), metav1.CreateOptions{})
		} else {
			_, err = api.ValidatingWebhookConfigurations().Create(ctx, at.validating(service.ValidatingConfig), metav1.CreateOptions{})
		}
		if apierrors.IsAlreadyExists(err) { // a restart of this component
			return nil
		}
		return err
	})
}

// endpoint is where one webhook is served.
type endpoint struct {
	name    string
	address string
	ca      []byte
}

func (e endpoint) mutating(upstream *admissionregistration.MutatingWebhookConfiguration) *admissionregistration.MutatingWebhookConfiguration {
	configuration := upstream.DeepCopy()
	configuration.Name = e.name
	for i := range configuration.Webhooks {
		webhook := &configuration.Webhooks[i]
		webhook.ClientConfig = e.clientConfig()
		webhook.AdmissionReviewVersions = []string{"v1"}
		webhook.SideEffects = new(admissionregistration.SideEffectClassNoneOnDryRun)
	}
	return configuration
}

func (e endpoint) validating(upstream *admissionregistration.ValidatingWebhookConfiguration) *admissionregistration.ValidatingWebhookConfiguration {
	configuration := upstream.DeepCopy()
	configuration.Name = e.name
	for i := range configuration.Webhooks {
		webhook := &configuration.Webhooks[i]
		webhook.ClientConfig = e.clientConfig()
		webhook.AdmissionReviewVersions = []string{"v1"}
		webhook.SideEffects = new(admissionregistration.SideEffectClassNoneOnDryRun)
	}
	return configuration
}

func (e endpoint) clientConfig() admissionregistration.WebhookClientConfig {
	return admissionregistration.WebhookClientConfig{URL: &e.address, CABundle: e.ca}
}
