package facts

import (
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcinformers "volcano.sh/apis/pkg/client/informers/externalversions"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/tephrav1"
)

// Sources are the scheduler's informers, which the scheduler starts and stops.
type Sources struct {
	Kube    informers.SharedInformerFactory
	Volcano vcinformers.SharedInformerFactory
}

// Options say which pods are ours and what is asked of the engine.
type Options struct {
	// Pods that name one of these and a pod group are ours; all others only take room.
	SchedulerNames []string
	// The engine learns of pod groups without pods as well, so that it admits them. Otherwise
	// Volcano's action enqueue moves them to the phase Inqueue.
	Admit bool
	// Keys of node labels, from the widest to the nearest, that say where a node is that is in no
	// HyperNode. REQUIRES: CheckDomainLabels is nil.
	DomainLabels []string
	// NodeSelector has labels as key:value. Only nodes with one of them are reported, as Volcano's cache has no other nodes; empty:
	// all nodes. REQUIRES: CheckNodeSelector is nil.
	NodeSelector []string
	// The label of nodes that may say "default": their links between GPUs are not looked at. Empty:
	// there is none.
	GPUTopologyLabel string
	// How pods ask for devices; nil: requests.Default.
	Devices *requests.Table
	// Keys sign what the scheduler says of pods, and what is not signed by them does not count; nil: it counts unsigned.
	Keys *annotations.Keys
	// Changed, if set, is called whenever an informer's object has been taken in; it must not call
	// back.
	Changed func()
}

// Feed turns what informers know into facts for one engine.
type Feed struct {
	options Options
	synced  []cache.InformerSynced

	mu         sync.Mutex
	version    uint64 // of the last fact
	translator translator
	nodes      map[string]*node
	queues     map[string]*queue
	priorities map[string]*schedulingv1.PriorityClass
	jobs       map[string]*batchv1alpha1.Job // by namespace/name
	groups     map[string]*group             // by namespace/name
	groupsOf   map[string]*group             // by the uid of the pod group
	holding    map[string]*group             // groups whose annotation reserves room for them
	ofJob      map[string]map[*group]bool    // by the namespace/name of the Job that owns them
	pods       map[string]*pod               // by uid
	masks      map[string][]string
	// UIDs of pods for which no mask is made, because their namespace has too many.
	lateForMasks map[string]bool
	domains      map[string]*domain
	byLabels     labelDomains                            // for nodes in none of domains
	budgets      map[string]map[string]*disruptionBudget // by namespace and name
	problems     problems

	kindsRead     int // how many there were when nodes and foreign pods were last read
	kindsReported int
	masksWorth    int // how many masks there may be before those of no pod are looked for
	modelsChanged bool
	offersChanged bool // which resources nodes have
	dirtyGroups   map[*group]bool
	dirtyLimits   map[*node]bool // nodes that may have other places for volumes
	whole         bool           // a full sync is being written
	moved         map[string]bool
	masked        map[*group]bool // some pod or template of the group has a mask
	changes       uint64

	tellQueues table[*tephrav1.Queue]
	tellNodes  table[*tephrav1.Node]
	tellMasks  table[[]string]
	tellJobs   table[*tephrav1.Job]
	tellTasks  table[reportedTask]

	tellDomains table[*tephrav1.Domain]
	tellBudgets table[int32]
}

type node struct {
	name string
	obj  *corev1.Node // nil: only pods name it
	fact *tephrav1.Node
	pods map[*pod]bool // bound to it
}

type queue struct {
	obj  *schedulingv1beta1.Queue
	fact *tephrav1.Queue // nil: it cannot be described
}

// New registers with the informers; they may already run. REQUIRES: they are started after this at
// the latest, priority classes, Volcano Jobs, HyperNodes and disruption
// budgets included.
func New(sources Sources, options Options) (*Feed, error) {
	if options.Devices == nil {
		options.Devices = requests.Default()
	}
	f := &Feed{
		options:     options,
		nodes:       map[string]*node{},
		queues:      map[string]*queue{},
		priorities:  map[string]*schedulingv1.PriorityClass{},
		jobs:        map[string]*batchv1alpha1.Job{},
		groups:      map[string]*group{},
		groupsOf:    map[string]*group{},
		holding:     map[string]*group{},
		ofJob:       map[string]map[*group]bool{},
		pods:        map[string]*pod{},
		masks:       map[string][]string{},
		domains:     map[string]*domain{},
		byLabels:    newLabelDomains(options.DomainLabels),
		budgets:     map[string]map[string]*disruptionBudget{},
		dirtyGroups: map[*group]bool{},
		dirtyLimits: map[*node]bool{},
		moved:       map[string]bool{},
		masked:      map[*group]bool{},
		tellQueues:  newTable(sameMessage[*tephrav1.Queue]),
		tellNodes:   newTable(sameMessage[*tephrav1.Node]),
		tellMasks:   newTable(slices.Equal[[]string]),
		tellJobs:    newTable(sameMessage[*tephrav1.Job]),
		tellTasks:   newTable(sameTask),
		tellDomains: newTable(sameMessage[*tephrav1.Domain]),
		tellBudgets: newTable(func(a, b int32) bool { return a == b }),
	}
	f.translator = newTranslator(options.Devices, f.ours)
	for _, source := range []struct {
		of       string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{"priority classes", sources.Kube.Scheduling().V1().PriorityClasses().Informer(),
			handle(f, f.setPriority, f.dropPriority)},
		{"nodes", sources.Kube.Core().V1().Nodes().Informer(), handle(f, f.setNode, f.dropNode)},
		{"queues", sources.Volcano.Scheduling().V1beta1().Queues().Informer(),
			handle(f, f.setQueue, f.dropQueue)},
		{"jobs", sources.Volcano.Batch().V1alpha1().Jobs().Informer(), handle(f, f.setJob, f.dropJob)},
		{"pod groups", sources.Volcano.Scheduling().V1beta1().PodGroups().Informer(),
			handle(f, f.setGroup, f.dropGroup)},
		{"hyper nodes", sources.Volcano.Topology().V1alpha1().HyperNodes().Informer(),
			handle(f, f.setDomain, f.dropDomain)},
		{"pod disruption budgets", sources.Kube.Policy().V1().PodDisruptionBudgets().Informer(),
			handle(f, f.setDisruptionBudget, f.dropDisruptionBudget)},
		{"claims of volumes", sources.Kube.Core().V1().PersistentVolumeClaims().Informer(), handle(f, f.setClaim, f.dropClaim)},
		{"volumes", sources.Kube.Core().V1().PersistentVolumes().Informer(), handle(f, f.setVolume, f.dropVolume)},
		{"storage classes", sources.Kube.Storage().V1().StorageClasses().Informer(), handle(f, f.setClass, f.dropClass)},
		{"CSI nodes", sources.Kube.Storage().V1().CSINodes().Informer(), handle(f, f.setNodeDrivers, f.dropNodeDrivers)},
		{"volume attachments", sources.Kube.Storage().V1().VolumeAttachments().Informer(),
			handle(f, f.setAttachment, f.dropAttachment)},
		{"pods", sources.Kube.Core().V1().Pods().Informer(), handle(f, f.setPod, f.dropPod)},
	} {
		registration, err := source.informer.AddEventHandler(source.handler)
		if err != nil {
			return nil, fmt.Errorf("informer of %s: %w", source.of, err)
		}
		f.synced = append(f.synced, registration.HasSynced)
	}
	return f, nil
}

// handle calls set for each object that is there or has changed and drop for each that is gone,
// holding the feed's lock.
func handle[T any](f *Feed, set, drop func(T)) cache.ResourceEventHandler {
	call := func(to func(T), object any) {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		if typed, ok := object.(T); ok {
			f.mu.Lock()
			defer f.mu.Unlock()
			to(typed)
			f.changes++
			if f.options.Changed != nil {
				f.options.Changed()
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { call(set, object) },
		UpdateFunc: func(before, object any) {
			// An informer that missed a deletion reports an object of the same name as the old one, updated.
			if uidOf(before) != uidOf(object) {
				call(drop, before)
			}
			call(set, object)
		},
		DeleteFunc: func(object any) { call(drop, object) },
	}
}

func uidOf(object any) types.UID {
	if of, ok := object.(metav1.Object); ok {
		return of.GetUID()
	}
	return ""
}

// Synced: every object that was there at the start has been seen.
func (f *Feed) Synced() bool {
	for _, synced := range f.synced {
		if !synced() {
			return false
		}
	}
	return true
}

func (f *Feed) ours(schedulerName string) bool {
	return slices.Contains(f.options.SchedulerNames, schedulerName)
}

// --- nodes and queues ----------------------------------------------------------------------

func (f *Feed) nodeNamed(name string) *node {
	n := f.nodes[name]
	if n == nil {
		n = &node{name: name, pods: map[*pod]bool{}}
		f.nodes[name] = n
	}
	return n
}

func (f *Feed) setNode(obj *corev1.Node) {
	if !selected(obj, f.options.NodeSelector) {
		f.dropNode(obj)
		return
	}
	n := f.nodeNamed(obj.Name)
	f.regroup(obj.Name, n.obj, obj)
	f.advertise(n.obj, obj)
	n.obj = obj
	f.placeByLabels(obj.Name)
	f.readNode(n)
}

func (f *Feed) readNode(n *node) {
	before := n.fact
	fact, wrong := translateNode(n.obj, &f.translator.kinds, f.options.GPUTopologyLabel)
	fact.Limits = f.nodeLimits(n.obj.Name)
	n.fact = fact
	f.note(Object{Kind: "Node", Name: n.obj.Name}, "", "", wrong)
	f.tellNodes.touch(n.obj.Name)
	f.devicesChanged(n, before)
}

func (f *Feed) dropNode(obj *corev1.Node) {
	n := f.nodeNamed(obj.Name)
	before := n.fact
	f.regroup(obj.Name, n.obj, nil)
	f.advertise(n.obj, nil)
	n.obj, n.fact = nil, nil
	f.placeByLabels(obj.Name)
	f.note(Object{Kind: "Node", Name: obj.Name}, "", "", nil)
	f.tellNodes.touch(obj.Name)
	f.devicesChanged(n, before)
	if len(n.pods) == 0 {
		delete(f.nodes, obj.Name)
	}
}

// advertise: some resources are asked for only where a node has them.
func (f *Feed) advertise(before, now *corev1.Node) {
	more, fewer := f.translator.words.advertises(now, +1), f.translator.words.advertises(before, -1)
	f.modelsChanged = f.modelsChanged || more || fewer
	arrived, gone := f.translator.kinds.offer(now, +1), f.translator.kinds.offer(before, -1)
	f.offersChanged = f.offersChanged || arrived || gone
	if more || fewer {
		f.kindsRead = -1 // nodes are read again: what is counted there has changed
	}
}

// devicesChanged: slices name devices, wishes name models, and parts are parts of a device.
func (f *Feed) devicesChanged(n *node, before *tephrav1.Node) {
	if (before == nil) == (n.fact == nil) && productOf(before) == productOf(n.fact) &&
		slices.EqualFunc(before.GetDevices(), n.fact.GetDevices(), sameMessage[*tephrav1.Device]) {
		return
	}
	for p := range n.pods {
		f.readSlices(p)
		f.tellTasks.touch(p.uid)
		if p.load = nil; p.group != nil && f.translator.dependsOnNodes(p.obj) {
			f.reshape(p)
		}
	}
	fewer, more := f.translator.countModels(before, -1), f.translator.countModels(n.fact, +1)
	f.modelsChanged = f.modelsChanged || fewer || more
}

func (f *Feed) setQueue(obj *schedulingv1beta1.Queue) {
	f.queues[obj.Name] = &queue{obj: obj}
	f.readQueue(f.queues[obj.Name])
}

func (f *Feed) readQueue(q *queue) {
	fact, wrong := translateQueue(q.obj, &f.translator.kinds)
	q.fact = fact
	object := Object{Kind: "Queue", Name: q.obj.Name, UID: string(q.obj.UID)}
	f.note(object, "", "", wrong)
	delay, wrong := evictionDelay(q.obj)
	f.note(object, evictionDelayAspect, "", wrong)
	if fact != nil {
		fact.EvictionDelayMs = delay
	}
	f.tellQueues.touch(q.obj.Name)
}

func (f *Feed) dropQueue(obj *schedulingv1beta1.Queue) {
	delete(f.queues, obj.Name)
	object := Object{Kind: "Queue", Name: obj.Name, UID: string(obj.UID)}
	f.note(object, "", "", nil)
	f.note(object, evictionDelayAspect, "", nil)
	f.tellQueues.touch(obj.Name)
}

// note keeps the list of problems: the fault stands, or nil, it does not any more.
func (f *Feed) note(object Object, aspect, job string, wrong *fault) {
	if wrong == nil {
		f.problems.set(object, aspect, nil)
		return
	}
	problem := wrong.of(object, job)
	f.problems.set(object, aspect, &problem)
}
