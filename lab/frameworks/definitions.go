package frameworks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
	"tephra.sh/lab/e2e"
)

// define creates the resource definitions of the folder, and returns when the API server serves them.
func (r *Running) define(ctx context.Context, folder string) error {
	// Not apply: its annotation has no room for the largest definitions.
	if _, err := r.cluster.Kubectl(ctx, "", "replace", "--force", "-f", folder); err != nil {
		return err
	}
	return e2e.Until(ctx, func(ctx context.Context) error { // it fails where a definition has no conditions yet
		_, err := r.cluster.Kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=5s", "-f", folder)
		return err
	})
}

// webhooks registers those of the kustomization, if there is one, at the controller's address.
func (r *Running) webhooks(ctx context.Context, name, folder string, at place, authority []byte) error {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	built, err := r.cluster.Kubectl(ctx, "", "kustomize", folder)
	if err != nil {
		return err
	}
	host := net.JoinHostPort(at.webhookHost, at.webhookPort)
	there := func(config *admissionregistration.WebhookClientConfig) {
		address := (&url.URL{Scheme: "https", Host: host, Path: *config.Service.Path}).String()
		*config = admissionregistration.WebhookClientConfig{URL: &address, CABundle: authority}
	}
	client := r.cluster.Kube.AdmissionregistrationV1()
	for _, document := range strings.Split(built, "\n---\n") {
		var object metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(folder), err)
		}
		switch object.Kind {
		case "MutatingWebhookConfiguration":
			var configuration admissionregistration.MutatingWebhookConfiguration
			if err := yaml.Unmarshal([]byte(document), &configuration); err != nil {
				return err
			}
			configuration.Name = name
			for i := range configuration.Webhooks {
				there(&configuration.Webhooks[i].ClientConfig)
			}
			_, err = client.MutatingWebhookConfigurations().Create(ctx, &configuration, metav1.CreateOptions{})
		case "ValidatingWebhookConfiguration":
			var configuration admissionregistration.ValidatingWebhookConfiguration
			if err := yaml.Unmarshal([]byte(document), &configuration); err != nil {
				return err
			}
			configuration.Name = name
			for i := range configuration.Webhooks {
				there(&configuration.Webhooks[i].ClientConfig)
			}
			_, err = client.ValidatingWebhookConfigurations().Create(ctx, &configuration, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// withoutEffect is a webhook configuration about a resource that is not there.
func withoutEffect(name string) *admissionregistration.ValidatingWebhookConfiguration {
	address, none := "https://127.0.0.1:1/", admissionregistration.SideEffectClassNone
	return &admissionregistration.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistration.ValidatingWebhook{{
			Name: "without-effect.lab.tephra.sh", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistration.WebhookClientConfig{URL: &address},
			Rules: []admissionregistration.RuleWithOperations{{
				Operations: []admissionregistration.OperationType{admissionregistration.Create},
				Rule:       admissionregistration.Rule{APIGroups: []string{"absent.lab.tephra.sh"}, APIVersions: []string{"v1"}, Resources: []string{"absent"}},
			}},
		}},
	}
}
