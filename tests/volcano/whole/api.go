package whole

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// kept are the resources that the model keeps. Of any other resource there is nothing.
var kept = map[string]struct {
	kind schema.GroupVersionKind
	make func() runtime.Object
}{
	"pods":       {core.SchemeGroupVersion.WithKind("Pod"), func() runtime.Object { return &core.Pod{} }},
	"nodes":      {core.SchemeGroupVersion.WithKind("Node"), func() runtime.Object { return &core.Node{} }},
	"configmaps": {core.SchemeGroupVersion.WithKind("ConfigMap"), func() runtime.Object { return &core.ConfigMap{} }},
	"leases":     {coordination.SchemeGroupVersion.WithKind("Lease"), func() runtime.Object { return &coordination.Lease{} }},
	"podgroups":  {scheduling.SchemeGroupVersion.WithKind("PodGroup"), func() runtime.Object { return &scheduling.PodGroup{} }},
	"queues":     {scheduling.SchemeGroupVersion.WithKind("Queue"), func() runtime.Object { return &scheduling.Queue{} }},
}

// stored is an object at one revision. It is never changed.
type stored struct {
	object runtime.Object
	raw    []byte
}

// change is one revision.
type change struct {
	revision uint64
	resource string
	key      string // resource/namespace/name
	event    watch.EventType
	at       time.Duration
	before   *stored // nil: the change created it
	after    *stored // of a deletion: the object as it was, with the revision of the deletion
}

// apiServer keeps objects, their history, and the watches on them. REQUIRES of every method: the world's lock is held.
type apiServer struct {
	world     *World
	revision  uint64
	compacted uint64 // watches from before it are refused
	objects   map[string]*stored
	history   []change
	watches   []*watcher
	uids      uint64
}

func newAPIServer(world *World) *apiServer {
	return &apiServer{world: world, revision: 1, objects: map[string]*stored{}}
}

func keyOf(resource, namespace, name string) string { return resource + "/" + namespace + "/" + name }

func accessor(object runtime.Object) metav1.Object {
	out, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	return out
}

func groupResource(resource string) schema.GroupResource {
	return schema.GroupResource{Group: kept[resource].kind.Group, Resource: resource}
}

func (a *apiServer) get(key string) runtime.Object {
	if found := a.objects[key]; found != nil {
		return found.object
	}
	return nil
}

// list is every object of the resource, by key.
func (a *apiServer) list(resource string) (out []*stored) {
	for _, key := range slices.Sorted(maps.Keys(a.objects)) {
		if strings.HasPrefix(key, resource+"/") {
			out = append(out, a.objects[key])
		}
	}
	return out
}

// at is what the server had at a revision.
func (a *apiServer) at(revision uint64) map[string]*stored {
	out := maps.Clone(a.objects)
	for _, c := range slices.Backward(a.history) {
		if c.revision <= revision {
			break
		}
		if delete(out, c.key); c.before != nil {
			out[c.key] = c.before
		}
	}
	return out
}

// commit writes one change down and passes it on.
func (a *apiServer) commit(resource, key string, event watch.EventType, object runtime.Object) runtime.Object {
	a.revision++
	accessor(object).SetResourceVersion(strconv.FormatUint(a.revision, 10))
	object.GetObjectKind().SetGroupVersionKind(kept[resource].kind)
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	c := change{a.revision, resource, key, event, a.world.now(), a.objects[key], &stored{object, raw}}
	if event == watch.Deleted {
		delete(a.objects, key)
	} else {
		a.objects[key] = c.after
	}
	a.history = append(a.history, c)
	if resource != "leases" && resource != "queues" {
		a.world.note("%s %s %s", event, key, summary(object))
	}
	for _, w := range a.watches {
		w.offer(c)
	}
	a.world.laws.observe(c)
	a.world.react(c)
	return object
}

func summary(object runtime.Object) string {
	switch o := object.(type) {
	case *core.Pod:
		deleting := ""
		if o.DeletionTimestamp != nil {
			deleting = " deleting"
		}
		return fmt.Sprintf("%s %s%s %s", o.Status.Phase, o.Spec.NodeName, deleting, o.Annotations[slicesKey])
	case *scheduling.PodGroup:
		text := string(o.Status.Phase)
		for _, condition := range o.Status.Conditions {
			text += fmt.Sprintf(" %s=%s %q", condition.Type, condition.Status, condition.Message)
		}
		return text
	}
	return ""
}

func (a *apiServer) create(resource string, object runtime.Object) (runtime.Object, *apierrors.StatusError) {
	o := accessor(object)
	key := keyOf(resource, o.GetNamespace(), o.GetName())
	if a.objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(groupResource(resource), o.GetName())
	}
	a.uids++
	o.SetUID(types.UID(fmt.Sprintf("%s-%d", resource, a.uids)))
	o.SetCreationTimestamp(metav1.NewTime(a.world.began.Add(a.world.now()).Truncate(1e9)))
	return a.commit(resource, key, watch.Added, object), nil
}

// update replaces the object, or only its status, if its version is that of the update.
func (a *apiServer) update(resource string, object runtime.Object, status bool) (runtime.Object, *apierrors.StatusError) {
	o := accessor(object)
	key := keyOf(resource, o.GetNamespace(), o.GetName())
	found := a.objects[key]
	if found == nil {
		return nil, apierrors.NewNotFound(groupResource(resource), o.GetName())
	}
	before := accessor(found.object)
	if o.GetUID() != "" && o.GetUID() != before.GetUID() {
		return nil, apierrors.NewConflict(groupResource(resource), o.GetName(), fmt.Errorf("the UID in the precondition differs"))
	}
	if version := o.GetResourceVersion(); version != "" && version != before.GetResourceVersion() && a.world.Mutant != "no-conflicts" {
		return nil, apierrors.NewConflict(groupResource(resource), o.GetName(), fmt.Errorf("the object has been modified"))
	}
	object = merged(object, found.object, status)
	o = accessor(object)
	o.SetUID(before.GetUID())
	o.SetCreationTimestamp(before.GetCreationTimestamp())
	o.SetResourceVersion(before.GetResourceVersion())
	object.GetObjectKind().SetGroupVersionKind(kept[resource].kind)
	if raw, err := json.Marshal(object); err == nil && string(raw) == string(found.raw) {
		return found.object, nil // nothing has changed, so there is no revision
	}
	return a.commit(resource, key, watch.Modified, object), nil
}

// merged is what an update of the object may change: a status is a subresource of pods and nodes.
func merged(object, before runtime.Object, status bool) runtime.Object {
	switch o := object.(type) {
	case *core.Pod:
		old := before.(*core.Pod)
		if status {
			out := old.DeepCopy()
			out.Status = o.Status
			return out
		}
		o.Status, o.Spec.NodeName = old.Status, old.Spec.NodeName
		o.DeletionTimestamp, o.DeletionGracePeriodSeconds = old.DeletionTimestamp, old.DeletionGracePeriodSeconds
	case *core.Node:
		if status {
			out := before.(*core.Node).DeepCopy()
			out.Status = o.Status
			return out
		}
		o.Status = before.(*core.Node).Status
	}
	return object
}

// remove deletes the object. A pod that has a node goes when its kubelet says so.
func (a *apiServer) remove(resource, key string, options metav1.DeleteOptions) (runtime.Object, *apierrors.StatusError) {
	found := a.get(key)
	name := key[strings.LastIndex(key, "/")+1:]
	if found == nil {
		return nil, apierrors.NewNotFound(groupResource(resource), name)
	}
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != accessor(found).GetUID() && a.world.Mutant != "no-preconditions" {
		return nil, apierrors.NewConflict(groupResource(resource), name, fmt.Errorf("the UID in the precondition differs"))
	}
	now := options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0
	if pod, is := found.(*core.Pod); is && pod.Spec.NodeName != "" && !ended(pod) && !now {
		if pod.DeletionTimestamp != nil {
			return pod, nil
		}
		pod = pod.DeepCopy()
		stamp, seconds := metav1.NewTime(a.world.began.Add(a.world.now()).Truncate(1e9)), int64(30)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &stamp, &seconds
		return a.commit(resource, key, watch.Modified, pod), nil
	}
	return a.commit(resource, key, watch.Deleted, found.DeepCopyObject()), nil
}

// bind does what the subresource `binding` does.
func (a *apiServer) bind(key string, binding *core.Binding) *apierrors.StatusError {
	found := a.get(key)
	if found == nil {
		return apierrors.NewNotFound(groupResource("pods"), binding.Name)
	}
	pod := found.DeepCopyObject().(*core.Pod)
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return apierrors.NewConflict(groupResource("pods"), binding.Name, fmt.Errorf("the UID in the precondition differs"))
	case pod.DeletionTimestamp != nil:
		return apierrors.NewConflict(groupResource("pods"), binding.Name, fmt.Errorf("the pod is being deleted"))
	case pod.Spec.NodeName != "" && a.world.Mutant != "bind-twice":
		return apierrors.NewConflict(groupResource("pods"), binding.Name, fmt.Errorf("the pod is already assigned to node %q", pod.Spec.NodeName))
	}
	pod.Spec.NodeName = binding.Target.Name
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, binding.Annotations)
	a.commit("pods", key, watch.Modified, pod)
	return nil
}

// edit changes an object as a controller would that read it just now. false: the object is gone.
func (a *apiServer) edit(key string, with func(runtime.Object)) bool {
	found := a.objects[key]
	if found == nil {
		return false
	}
	object := found.object.DeepCopyObject()
	with(object)
	resource := key[:strings.Index(key, "/")]
	if raw, err := json.Marshal(object); err != nil || string(raw) != string(found.raw) {
		a.commit(resource, key, watch.Modified, object)
	}
	return true
}

// restore brings back what was there so long ago, under new revisions, as etcd's documentation says how to restore.
func (a *apiServer) restore(revision uint64) {
	objects := a.at(revision)
	a.world.note("RESTORED to revision %d of %d", revision, a.revision)
	a.revision += 1000
	a.history = nil
	a.compacted = a.revision
	a.objects = objects
	a.cutWatches()
}

// compact forgets what happened before now.
func (a *apiServer) compact() {
	a.compacted = a.revision
	a.history = nil
	a.cutWatches()
}

func (a *apiServer) cutWatches() {
	for _, w := range a.watches {
		w.stream.end()
	}
	a.watches = nil
}

func ended(pod *core.Pod) bool {
	return pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed
}
