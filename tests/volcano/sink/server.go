package sink

import (
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubefake "k8s.io/client-go/kubernetes/fake"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcfake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	vcscheme "volcano.sh/apis/pkg/client/clientset/versioned/scheme"
	"volcano.sh/volcano/pkg/scheduler/api"
	schedcache "volcano.sh/volcano/pkg/scheduler/cache"
)

// Events that a watch holds before a change of an object has to wait for it.
const watchBuffer = 1000

// disableWatchList: informers of client-go 0.35 that find a server without bookmarks wait forever.
func disableWatchList() {
	if err := utilfeature.DefaultMutableFeatureGate.Set("WatchListClient=false"); err != nil {
		panic(err)
	}
}

// server is what fake clientsets lack of an API server: versions, and watches that neither lose an
// event nor give up when they are slow.
type server struct {
	kube    clienttesting.ObjectTracker
	volcano clienttesting.ObjectTracker
	started bool

	mutex   sync.Mutex
	version int
	watches map[schema.GroupVersionResource]*watch.Broadcaster
	lists   map[schema.GroupVersionResource]int // minus watches
	pods    map[string]*corev1.Pod              // by uid
	nodes   map[string]*corev1.Node
	groups  map[string]*schedulingv1beta1.PodGroup // by namespace/name
	queues  map[string]*schedulingv1beta1.Queue
}

func newServer(cache *schedcache.SchedulerCache) *server {
	kube := cache.Client().(*kubefake.Clientset)
	volcano := cache.VCClient().(*vcfake.Clientset)
	s := &server{
		kube: kube.Tracker(), volcano: volcano.Tracker(),
		watches: map[schema.GroupVersionResource]*watch.Broadcaster{},
		lists:   map[schema.GroupVersionResource]int{},
		pods:    map[string]*corev1.Pod{},
		nodes:   map[string]*corev1.Node{},
		groups:  map[string]*schedulingv1beta1.PodGroup{},
		queues:  map[string]*schedulingv1beta1.Queue{},
	}
	for _, fake := range []*clienttesting.Fake{&kube.Fake, &volcano.Fake} {
		fake.PrependReactor("list", "*", s.list)
		fake.PrependWatchReactor("*", s.watch)
	}
	return s
}

func (s *server) list(action clienttesting.Action) (bool, runtime.Object, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lists[action.GetResource()]++
	return false, nil, nil
}

func (s *server) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lists[action.GetResource()]--
	started, err := s.of(action.GetResource()).Watch()
	return true, started, err
}

func (s *server) of(resource schema.GroupVersionResource) *watch.Broadcaster {
	if s.watches[resource] == nil {
		s.watches[resource] = watch.NewBroadcaster(watchBuffer, watch.WaitIfChannelFull)
	}
	return s.watches[resource]
}

// watched: each informer that has listed also watches, so that none misses what changes now.
func (s *server) watched() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, behind := range s.lists {
		if behind > 0 {
			return false
		}
	}
	return true
}

// tracker is the clientset that knows the object's kind, and the resource of that kind.
func (s *server) tracker(object runtime.Object) (clienttesting.ObjectTracker, schema.GroupVersionResource, error) {
	tracker := s.kube
	kinds, _, err := kubescheme.Scheme.ObjectKinds(object)
	if runtime.IsNotRegisteredError(err) {
		tracker = s.volcano
		kinds, _, err = vcscheme.Scheme.ObjectKinds(object)
	}
	if err != nil {
		return nil, schema.GroupVersionResource{}, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return tracker, resource, nil
}

func (s *server) put(object runtime.Object) error {
	tracker, resource, err := s.tracker(object)
	if err != nil {
		return err
	}
	about, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	s.version++
	about.SetResourceVersion(strconv.Itoa(s.version))
	verb := watch.Modified
	if s.note(object) {
		verb = watch.Added
	}
	watches := s.of(resource)
	s.mutex.Unlock()
	if verb == watch.Added {
		err = tracker.Create(resource, object, about.GetNamespace())
	} else {
		err = tracker.Update(resource, object, about.GetNamespace())
	}
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", resource.Resource, about.GetNamespace(), about.GetName(), err)
	}
	return watches.Action(verb, object.DeepCopyObject())
}

// pod is a copy of the pod as it is now; nil: it is gone.
func (s *server) pod(uid string) *corev1.Pod {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.pods[uid].DeepCopy()
}

func (s *server) remove(object runtime.Object) error {
	tracker, resource, err := s.tracker(object)
	if err != nil {
		return err
	}
	about, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	s.forget(object)
	watches := s.of(resource)
	s.mutex.Unlock()
	if err := tracker.Delete(resource, about.GetNamespace(), about.GetName()); err != nil {
		return err
	}
	return watches.Action(watch.Deleted, object)
}

// note keeps what a scheduler has to see before a session; true: the object is new.
func (s *server) note(object runtime.Object) bool {
	switch object := object.(type) {
	case *corev1.Pod:
		_, known := s.pods[string(object.UID)]
		s.pods[string(object.UID)] = object
		return !known
	case *corev1.Node:
		_, known := s.nodes[object.Name]
		s.nodes[object.Name] = object
		return !known
	case *schedulingv1beta1.PodGroup:
		_, known := s.groups[object.Namespace+"/"+object.Name]
		s.groups[object.Namespace+"/"+object.Name] = object
		return !known
	case *schedulingv1beta1.Queue:
		_, known := s.queues[object.Name]
		s.queues[object.Name] = object
		return !known
	}
	return true
}

func (s *server) forget(object runtime.Object) {
	switch object := object.(type) {
	case *corev1.Pod:
		delete(s.pods, string(object.UID))
	case *corev1.Node:
		delete(s.nodes, object.Name)
	case *schedulingv1beta1.PodGroup:
		delete(s.groups, object.Namespace+"/"+object.Name)
	case *schedulingv1beta1.Queue:
		delete(s.queues, object.Name)
	}
}

// unseenBy names one object that the cache does not know as it is; empty: there is none. REQUIRES:
// the cache is locked.
func (s *server) unseenBy(cache *schedcache.SchedulerCache) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for name, node := range s.nodes {
		if known := cache.Nodes[name]; known == nil || known.Node == nil ||
			known.Node.ResourceVersion != node.ResourceVersion {
			return "node " + name
		}
	}
	for name := range s.queues {
		if cache.Queues[api.QueueID(name)] == nil {
			return "queue " + name
		}
	}
	for name, group := range s.groups {
		known := cache.Jobs[api.JobID(name)]
		if known == nil || known.PodGroup == nil || known.PodGroup.ResourceVersion != group.ResourceVersion {
			return "pod group " + name
		}
	}
	tasks := 0
	for uid, pod := range s.pods {
		group := pod.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
		if pod.Spec.SchedulerName != SchedulerName || group == "" {
			continue
		}
		tasks++
		job := cache.Jobs[api.JobID(pod.Namespace+"/"+group)]
		if job == nil {
			return "job of pod " + pod.Name
		}
		task := job.Tasks[api.TaskID(uid)]
		if task == nil || task.Pod.ResourceVersion != pod.ResourceVersion {
			return "pod " + pod.Name
		}
	}
	for _, job := range cache.Jobs {
		tasks -= len(job.Tasks)
	}
	if tasks < 0 {
		return "pods that are gone"
	}
	return ""
}
