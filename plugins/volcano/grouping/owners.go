package grouping

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// owners reads the objects that own groups. It begins to watch a resource when the first pod of such an owner appears, so that
// a cluster without JobSets needs no definition of JobSets. Any goroutine may call get.
type owners struct {
	factory dynamicinformer.DynamicSharedInformerFactory
	changed func(*unstructured.Unstructured)

	mutex   sync.Mutex
	ctx     context.Context // of run
	watched map[schema.GroupVersionResource]cache.SharedIndexInformer
}

// syncWithin is how long the first list of a resource may take.
const syncWithin = 20 * time.Second

func newOwners(client dynamic.Interface, changed func(*unstructured.Unstructured)) *owners {
	return &owners{factory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0), changed: changed,
		watched: map[schema.GroupVersionResource]cache.SharedIndexInformer{}}
}

// run allows get until the context ends.
func (o *owners) run(ctx context.Context) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.ctx = ctx
}

// get is the object, which the caller does not change. The error is a NotFound of the API if there is none.
func (o *owners) get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	informer, err := o.watch(resource)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, syncWithin)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("%s: the API server did not list them within %s", resource.GroupResource(), syncWithin)
	}
	object, err := o.factory.ForResource(resource).Lister().ByNamespace(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	found, is := object.(*unstructured.Unstructured)
	if !is {
		return nil, fmt.Errorf("%s %s/%s: %T, expected an object", resource.GroupResource(), namespace, name, object)
	}
	return found, nil
}

func (o *owners) watch(resource schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if informer := o.watched[resource]; informer != nil {
		return informer, nil
	}
	informer := o.factory.ForResource(resource).Informer()
	if err := informer.SetTransform(trimmed); err != nil {
		return nil, err
	}
	report := func(object any) {
		if owner, is := object.(*unstructured.Unstructured); is {
			o.changed(owner)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: report, UpdateFunc: func(_, after any) { report(after) },
	}); err != nil {
		return nil, err
	}
	o.watched[resource] = informer
	go informer.Run(o.ctx.Done())
	return informer, nil
}

// trimmed leaves out what says nothing about the size of a gang and takes most of the memory.
func trimmed(object any) (any, error) {
	owner, is := object.(runtime.Unstructured)
	if !is {
		return object, nil
	}
	content := owner.UnstructuredContent()
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "spec", "template")
	if jobs, found, _ := unstructured.NestedSlice(content, "spec", "replicatedJobs"); found {
		for _, one := range jobs {
			if job, is := one.(map[string]any); is {
				unstructured.RemoveNestedField(job, "template", "spec", "template")
			}
		}
		if err := unstructured.SetNestedSlice(content, jobs, "spec", "replicatedJobs"); err != nil {
			return object, nil
		}
	}
	return object, nil
}
