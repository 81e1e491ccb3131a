package lab

import (
	"context"
	"embed"
	"errors"
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Volcano's own custom resource definitions, which hack/build-lab.sh copies out of Volcano's module:
// the program needs no module cache when it runs.
//
//go:embed crds/*.yaml
var definitions embed.FS

// createDefinitions returns when all of them are served.
func createDefinitions(ctx context.Context, config *rest.Config) error {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	files, err := definitions.ReadDir("crds")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := definitions.ReadFile("crds/" + file.Name())
		if err != nil {
			return err
		}
		var definition apiextensions.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &definition); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		if _, err := api.Create(ctx, &definition, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	return until(ctx, func(ctx context.Context) error {
		list, err := api.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if !established(&list.Items[i]) {
				return errors.New(list.Items[i].Name + " is not yet served")
			}
		}
		return nil
	})
}

func established(definition *apiextensions.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensions.Established {
			return condition.Status == apiextensions.ConditionTrue
		}
	}
	return false
}
