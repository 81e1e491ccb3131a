package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// Cluster is what a check looks at: objects by group and kind. Its zero is empty.
type Cluster struct {
	objects map[schema.GroupKind][]unstructured.Unstructured
}

// The kinds that a check reads, and the names of the ConfigMaps.
var (
	resources = []schema.GroupVersionResource{
		{Version: "v1", Resource: "nodes"},
		{Version: "v1", Resource: "namespaces"},
		{Version: "v1", Resource: "pods"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"},
		{Group: volcanoBatch, Version: "v1alpha1", Resource: "jobs"},
		{Group: volcanoQueues, Version: "v1beta1", Resource: "queues"},
		{Group: kaiGroup, Version: "v2", Resource: "queues"},
		{Group: kaiGroup, Version: "v2alpha2", Resource: "podgroups"},
	}
	configMaps = []string{hamiConfig, volcanoVGPUConfig, volcanoSchedulerConfig}
)

const (
	volcanoBatch  = "batch.volcano.sh"
	volcanoQueues = "scheduling.volcano.sh"
	kaiGroup      = "scheduling.run.ai"

	hamiConfig             = "hami-scheduler-device"
	volcanoVGPUConfig      = "volcano-vgpu-device-config"
	volcanoSchedulerConfig = "volcano-scheduler-configmap"

	pageSize  = 500
	mostBytes = 1 << 30 // of a file
)

// Read lists everything that a check looks at. Kinds that the API server does not have are absent. Any other error ends the
// reading, because a check of half a cluster could miss what blocks.
func (c *Cluster) Read(ctx context.Context, client dynamic.Interface) error {
	for _, each := range resources {
		if err := c.list(ctx, client, each, ""); err != nil {
			return err
		}
	}
	for _, name := range configMaps {
		if err := c.list(ctx, client, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) list(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, name string) error {
	options := metav1.ListOptions{Limit: pageSize}
	if name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
	}
	for {
		page, err := client.Resource(resource).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		for _, object := range page.Items {
			c.add(object)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func (c *Cluster) add(object unstructured.Unstructured) {
	if c.objects == nil {
		c.objects = map[schema.GroupKind][]unstructured.Unstructured{}
	}
	kind := object.GroupVersionKind().GroupKind()
	c.objects[kind] = append(c.objects[kind], object)
}

// AddFiles reads what `kubectl get -o yaml` or `-o json` wrote; "-" is standard input. Kinds that a check does not look at do
// not matter.
func (c *Cluster) AddFiles(paths []string) error {
	for _, path := range paths {
		in := os.Stdin
		if path != "-" {
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			in = file
		}
		if err := c.parse(in); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (c *Cluster) parse(in io.Reader) error {
	limited := &io.LimitedReader{R: in, N: mostBytes}
	decoder := yaml.NewYAMLOrJSONDecoder(limited, 4096)
	for {
		var raw runtime.RawExtension
		var object unstructured.Unstructured
		err := decoder.Decode(&raw)
		if err == nil {
			err = json.Unmarshal(raw.Raw, &object.Object) // whole numbers stay whole
		}
		switch {
		case limited.N == 0:
			return fmt.Errorf("more than %d bytes", mostBytes)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case object.Object == nil:
			continue
		case object.GetKind() == "" || object.GetAPIVersion() == "":
			return fmt.Errorf("object %q: no apiVersion or kind, expected the output of kubectl get -o yaml", object.GetName())
		case !object.IsList():
			c.add(object)
			continue
		}
		list, err := object.ToList()
		if err != nil {
			return fmt.Errorf("%s: %w", object.GetKind(), err)
		}
		for _, item := range list.Items {
			c.add(item)
		}
	}
}

// all are the objects of a kind, in their own type.
func all[T any](c *Cluster, group, kind string) ([]T, error) {
	found := c.objects[schema.GroupKind{Group: group, Kind: kind}]
	out := make([]T, len(found))
	for i := range found {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found[i].Object, &out[i]); err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", kind, found[i].GetNamespace(), found[i].GetName(), err)
		}
	}
	return out, nil
}

// each calls do with every object of a kind, in its own type.
func each[T any](c *Cluster, group, kind string, do func(*T)) error {
	found, err := all[T](c, group, kind)
	for i := range found {
		do(&found[i])
	}
	return err
}
