// Package grouping makes PodGroups where the framework of a job makes none: for JobSets, Indexed Jobs and pods whose template
// states how many of them have to start together. It also completes the PodGroups that frameworks make with annotations of
// their pods, which those frameworks do not copy (ADR 0031).
//
// Two programs take part. The webhook of tephra-admission writes into each new pod the name of its group (Assign). The Keeper,
// in the scheduler that leads, makes and resizes the groups. Between the two, a pod waits, because its group is not there yet.
package grouping

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	volcanobatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topology "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

const (
	topologyMode = topology.NetworkTopologyModeAnnotationKey
	topologyTier = topology.NetworkTopologyHighestTierAnnotationKey
)

// byGroup indexes pods of ours by namespace/name of their group.
const byGroup = "tephra.sh/group"

// emptyFor is how long a group of ours may be without pods before it is deleted: a job that restarts keeps its group, and with
// it its turn and its record of evictions. A suspended job loses its group at once.
const emptyFor = time.Minute

// workers that make groups at a time; each waits for the API server.
const workers = 8

var (
	jobs    = batchv1.SchemeGroupVersion.WithResource("jobs")
	jobSets = schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
)

// Options of a Keeper.
type Options struct {
	Ours     func(schedulerName string) bool
	Pods     cache.SharedIndexInformer
	Groups   cache.SharedIndexInformer
	Volcano  volcano.Interface
	Dynamic  dynamic.Interface
	Recorder record.EventRecorder
}

// Keeper keeps the PodGroups. New, then Run once, in the process that leads; informers call it from their goroutines. Before
// Run it notes nothing, so that a process that stands by for months keeps no trace of groups that came and went.
type Keeper struct {
	Options
	runs   atomic.Bool
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	owners *owners

	mutex   sync.Mutex
	emptied map[cache.ObjectName]time.Time // since when groups of ours have no pods
}

// New listens to the informers. REQUIRES: they do not run yet.
func New(options Options) (*Keeper, error) {
	k := &Keeper{Options: options, emptied: map[cache.ObjectName]time.Time{}}
	k.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](50*time.Millisecond, 30*time.Second))
	k.owners = newOwners(options.Dynamic, k.ownerChanged)
	err := k.Pods.AddIndexers(cache.Indexers{byGroup: func(object any) ([]string, error) {
		if name := k.groupOf(object); name.Name != "" {
			return []string{name.String()}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, err
	}
	if _, err := k.Pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: k.podChanged,
		UpdateFunc: func(before, after any) {
			if k.groupOf(before) != k.groupOf(after) { // what it inherited stays, so other changes are not looked at
				k.podChanged(after)
			}
		},
		DeleteFunc: func(object any) {
			if last, is := object.(cache.DeletedFinalStateUnknown); is {
				object = last.Obj
			}
			k.podChanged(object)
		},
	}); err != nil {
		return nil, err
	}
	_, err = k.Groups.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { k.groupChanged(object) }, DeleteFunc: func(object any) { k.groupChanged(object) },
	})
	return k, err
}

// groupOf is the group of a pod of ours; the zero value: it has none.
func (k *Keeper) groupOf(object any) cache.ObjectName {
	pod, is := object.(*corev1.Pod)
	if !is || !k.Ours(pod.Spec.SchedulerName) || pod.Annotations[GroupKey] == "" {
		return cache.ObjectName{}
	}
	return cache.NewObjectName(pod.Namespace, pod.Annotations[GroupKey])
}

// look has the group looked at, once the Keeper runs.
func (k *Keeper) look(name cache.ObjectName) {
	if k.runs.Load() {
		k.queue.Add(name)
	}
}

func (k *Keeper) podChanged(object any) {
	if name := k.groupOf(object); name.Name != "" {
		k.look(name)
	}
}

func (k *Keeper) groupChanged(object any) {
	if last, is := object.(cache.DeletedFinalStateUnknown); is {
		object = last.Obj
	}
	if group, is := object.(*v1beta1.PodGroup); is {
		k.look(cache.MetaObjectToName(group))
	}
}

// ownerChanged looks again at the group that is named after the owner.
func (k *Keeper) ownerChanged(owner *unstructured.Unstructured) {
	k.look(cache.NewObjectName(owner.GetNamespace(), volcanobatch.PodgroupNamePrefix+string(owner.GetUID())))
}

// Run makes groups until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), k.Pods.HasSynced, k.Groups.HasSynced) {
		return
	}
	k.owners.run(ctx)
	k.runs.Store(true)
	for _, group := range k.Groups.GetStore().List() {
		k.groupChanged(group)
	}
	for _, pod := range k.Pods.GetStore().List() {
		k.podChanged(pod)
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for k.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	k.queue.ShutDown()
	all.Wait()
}

func (k *Keeper) next(ctx context.Context) bool {
	name, shutdown := k.queue.Get()
	if shutdown {
		return false
	}
	defer k.queue.Done(name)
	again, err := k.keep(ctx, name)
	switch {
	case err != nil && ctx.Err() == nil:
		klog.ErrorS(err, "Could not keep a PodGroup; it is tried again", "podGroup", name.String())
		k.queue.AddRateLimited(name)
		return true
	case again > 0:
		k.queue.AddAfter(name, again)
	}
	k.queue.Forget(name)
	return true
}

// keep makes the group what it should be. It returns after how long to look again; 0: when something changes.
func (k *Keeper) keep(ctx context.Context, name cache.ObjectName) (again time.Duration, err error) {
	object, found, err := k.Groups.GetStore().GetByKey(name.String())
	if err != nil {
		return 0, err
	}
	group, _ := object.(*v1beta1.PodGroup)
	if found && ofVolcanoJob(group) {
		return 0, nil // Volcano copies the annotations of its Jobs
	}
	pods := k.podsOf(name)
	if !found || group.DeletionTimestamp != nil {
		k.noteEmpty(name, false)
		return 0, k.make(ctx, name, pods)
	}
	if group.Labels[managedBy] != tephra {
		return 0, k.complete(ctx, group, pods)
	}
	if len(pods) == 0 {
		return k.empty(ctx, group)
	}
	k.noteEmpty(name, false)
	size, _, known, err := k.sizeOf(ctx, name, pods)
	if err != nil || !known {
		return 0, err
	}
	if changed := resized(group, size); changed != nil {
		klog.V(2).InfoS("Resizing a PodGroup", "podGroup", name.String(), "min", size.Min)
		_, err = k.Volcano.SchedulingV1beta1().PodGroups(name.Namespace).Update(ctx, changed, metav1.UpdateOptions{})
	}
	return 0, err
}

func ofVolcanoJob(group *v1beta1.PodGroup) bool {
	owner := metav1.GetControllerOf(group)
	return owner != nil && owner.APIVersion == volcanobatch.SchemeGroupVersion.String()
}

func (k *Keeper) podsOf(name cache.ObjectName) (pods []*corev1.Pod) {
	objects, _ := k.Pods.GetIndexer().ByIndex(byGroup, name.String())
	for _, object := range objects {
		if pod, is := object.(*corev1.Pod); is {
			pods = append(pods, pod)
		}
	}
	return ordered(pods)
}

// make creates the group if it is ours to make and a pod asks for it.
func (k *Keeper) make(ctx context.Context, name cache.ObjectName, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	size, owner, known, err := k.sizeOf(ctx, name, pods)
	if err != nil || !known {
		return err
	}
	group := podGroup(name.Namespace, name.Name, size, owner, pods)
	_, err = k.Volcano.SchedulingV1beta1().PodGroups(name.Namespace).Create(ctx, group, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err): // the informer lags
		return nil
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		k.Recorder.Eventf(pods[0], corev1.EventTypeWarning, "PodGroupRefused", "The API server refuses the PodGroup %s of this pod: %v", name.Name, err)
	case err == nil:
		klog.V(2).InfoS("Made a PodGroup", "podGroup", name.String(), "min", size.Min, "pods", len(pods))
	}
	return err
}

// sizeOf is the size of a group that is ours to make, and its owner. Not known: the group is made elsewhere, or its owner is gone.
func (k *Keeper) sizeOf(ctx context.Context, name cache.ObjectName, pods []*corev1.Pod) (size Size, owner *metav1.OwnerReference, known bool, err error) {
	pod := pods[0]
	byPods := map[string]string{}
	if value, given := first(pods, MinMemberKey); given {
		byPods[MinMemberKey] = value
	}
	least, isStated, wrong := stated(byPods)
	uid, byOwner := strings.CutPrefix(name.Name, volcanobatch.PodgroupNamePrefix)
	direct := metav1.GetControllerOf(pod)
	switch {
	case byOwner && pod.Labels[jobSetUID] == uid:
		size, owner, known, err = k.ofObject(ctx, jobSets, "JobSet", name.Namespace, pod.Labels[jobSetName], uid, sizeOfJobSet)
	case byOwner && direct != nil && string(direct.UID) == uid && isJob(direct):
		size, owner, known, err = k.ofObject(ctx, jobs, "Job", name.Namespace, direct.Name, uid, sizeOfJob)
	case isStated || wrong != nil:
		size, known = Size{Min: 1}, true
		if byOwner && direct != nil && string(direct.UID) == uid {
			owner = direct.DeepCopy()
			owner.BlockOwnerDeletion = nil
		}
	}
	if isStated && known {
		size = Size{Min: least}
	}
	if wrong != nil && known {
		k.Recorder.Event(pod, corev1.EventTypeWarning, "PodGroupMinimum", wrong.Error()+"; the annotation is ignored")
	}
	return size, owner, known, err
}

func (k *Keeper) ofObject(ctx context.Context, resource schema.GroupVersionResource, kind, namespace, name, uid string,
	size func(map[string]any) Size) (Size, *metav1.OwnerReference, bool, error) {
	object, err := k.owners.get(ctx, resource, namespace, name)
	if apierrors.IsNotFound(err) || err == nil && string(object.GetUID()) != uid {
		return Size{}, nil, false, nil
	}
	if err != nil {
		return Size{}, nil, false, fmt.Errorf("%s %s/%s: %w", kind, namespace, name, err)
	}
	found := size(object.Object)
	if least, given, err := stated(object.GetAnnotations()); err == nil && given {
		found = Size{Min: least}
	}
	reference := metav1.NewControllerRef(object, resource.GroupVersion().WithKind(kind))
	reference.BlockOwnerDeletion = nil // nothing is lost if the owner goes first
	return found, reference, true, nil
}

// complete gives a group that another program made what it lacks of its pods' annotations, and their priority if that program
// leaves it out: LeaderWorkerSet's groups are owned by a pod and have none. Its other fields belong to that program.
func (k *Keeper) complete(ctx context.Context, group *v1beta1.PodGroup, pods []*corev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	owner := metav1.GetControllerOf(group)
	patch := map[string]any{}
	if lacks := inheritedBy(group, pods); len(lacks) > 0 {
		patch["metadata"] = map[string]any{"annotations": lacks}
	}
	if class := priorityClass(pods); owner != nil && owner.Kind == "Pod" && group.Spec.PriorityClassName == "" && class != "" {
		patch["spec"] = map[string]any{"priorityClassName": class}
	}
	if len(patch) == 0 {
		return nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = k.Volcano.SchedulingV1beta1().PodGroups(group.Namespace).Patch(ctx, group.Name, types.MergePatchType, text, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// empty deletes a group of ours that has no pods, at once if its owner is suspended.
func (k *Keeper) empty(ctx context.Context, group *v1beta1.PodGroup) (again time.Duration, err error) {
	since := k.noteEmpty(cache.MetaObjectToName(group), true)
	if left := emptyFor - time.Since(since); left > 0 && !k.suspended(ctx, group) {
		return left, nil
	}
	klog.V(2).InfoS("Deleting a PodGroup without pods", "podGroup", group.Namespace+"/"+group.Name)
	err = k.Volcano.SchedulingV1beta1().PodGroups(group.Namespace).Delete(ctx, group.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(group.UID))})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return 0, err
}

// noteEmpty says since when the group has been empty.
func (k *Keeper) noteEmpty(name cache.ObjectName, empty bool) time.Time {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if !empty {
		delete(k.emptied, name)
		return time.Time{}
	}
	if _, known := k.emptied[name]; !known {
		k.emptied[name] = time.Now()
	}
	return k.emptied[name]
}

func (k *Keeper) suspended(ctx context.Context, group *v1beta1.PodGroup) bool {
	owner := metav1.GetControllerOf(group)
	if owner == nil {
		return false
	}
	for kind, resource := range map[string]schema.GroupVersionResource{"Job": jobs, "JobSet": jobSets} {
		if owner.Kind == kind && owner.APIVersion == resource.GroupVersion().String() {
			object, err := k.owners.get(ctx, resource, group.Namespace, owner.Name)
			if err != nil {
				return false
			}
			suspend, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
			return suspend
		}
	}
	return false
}
