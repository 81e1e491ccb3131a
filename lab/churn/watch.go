package churn

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// watcher is what the clients of all kinds of objects have in common.
type watcher interface {
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// follow makes a function that calls seen for every change of a kind of object from now on, in the
// order in which the API server made them, until the context ends. An informer would not do: it keeps
// the order of each object's changes only.
func follow[T runtime.Object](ctx context.Context, client watcher,
	list func(context.Context) (metav1.ListInterface, error), seen func(object T, gone bool)) (func() error, error) {
	now, err := list(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, now.GetResourceVersion(),
		&cache.ListWatch{WatchFuncWithContext: client.Watch})
	if err != nil {
		return nil, err
	}
	return func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case event, open := <-changes.ResultChan():
				if object, ok := event.Object.(T); ok {
					seen(object, event.Type == watch.Deleted)
				} else if event.Type == watch.Error || (!open && ctx.Err() == nil) {
					return fmt.Errorf("watch of %T ended: %v", *new(T), event.Object)
				}
			}
		}
	}, nil
}
