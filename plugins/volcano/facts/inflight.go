package facts

import (
	"fmt"
	"slices"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// handover is a binding that was asked of the API server.
type handover struct {
	node   string
	queue  string // of its group, as the engine knows it
	slices []*tephrav1.Slice
	tell   bool // the engine no longer assumes it
}

// inFlight: handed over, and the pod itself does not say so yet.
func (p *pod) inFlight() bool { return p.handed != nil && p.obj.Spec.NodeName == "" && !ended(p.obj) }

// PodRef names a pod that stands in a task's place.
type PodRef struct {
	UID, Namespace, Name string
	Node                 string // that it is bound to; empty: none
}

// JobRef says how a pod group stands.
type JobRef struct {
	UID             string
	Namespace, Name string
	Called          string // by the user
	Queue           string // as the engine knows it; empty: it knows nothing
	Phase           schedulingv1beta1.PodGroupPhase
	HasPods         bool // as the engine knows it: its pods ask, and no template does
	Reserves        bool // its annotation reserves room for it
}

// Pod is the pod in that place of the job, as the engine knows it.
func (f *Feed) Pod(jobUID, role string, index int32) (PodRef, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groupsOf[jobUID]
	if g == nil {
		return PodRef{}, false
	}
	p := g.roles[slot{role, index}]
	if p == nil || f.pods[p.uid] != p {
		return PodRef{}, false
	}
	return PodRef{p.uid, p.obj.Namespace, p.obj.Name, p.obj.Spec.NodeName}, true
}

// HasPod: the pod is there, be it ours or not.
func (f *Feed) HasPod(uid string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pods[uid] != nil
}

// Job is the pod group of that uid.
func (f *Feed) Job(uid string) (JobRef, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.groupsOf[uid]
	if g == nil {
		return JobRef{}, false
	}
	return JobRef{UID: uid, Namespace: g.obj.Namespace, Name: g.obj.Name, Called: g.userName(), Queue: g.fact.GetQueue(),
		Phase: g.obj.Status.Phase, HasPods: g.fact.GetPodsExist(), Reserves: f.holding[uid] != nil}, true
}

// HandedOver: a binding of the pod to the node, with these slices, is on its way to the API server.
// Until the pod says so itself, or BindFailed, a Sync tells it as running there and a Drain says
// nothing of it, unless it is StillBinding.
func (f *Feed) HandedOver(podUID, node string, chosen []*tephrav1.Slice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pods[podUID]; p != nil {
		p.handed = &handover{node: node, slices: chosen}
		if p.group != nil {
			p.handed.queue = p.group.fact.GetQueue()
		}
	}
}

// StillBinding: the engine has given up waiting for the pod's binding, which goes on: a volume may take
// minutes. From now on a Drain tells it as running there.
func (f *Feed) StillBinding(podUID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pods[podUID]; p != nil && p.inFlight() {
		p.handed.tell = true
		f.tellTasks.touch(podUID)
	}
}

// BindFailed: the pod was not bound after all, and waits again.
func (f *Feed) BindFailed(podUID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.pods[podUID]; p != nil && p.inFlight() {
		p.handed = nil
		f.tellTasks.touch(podUID)
		if p.group != nil {
			f.dirtyGroups[p.group] = true // its queue may change now
		}
	}
}

// SlicesAnnotation writes the slices that the engine chose for the pod as the value of the
// annotation tephra.sh/slices. No slices: an empty text, and nothing to annotate.
func (f *Feed) SlicesAnnotation(podUID, node string, chosen []*tephrav1.Slice) (string, error) {
	if len(chosen) == 0 {
		return "", nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p, n := f.pods[podUID], f.nodes[node]
	if p == nil {
		return "", fmt.Errorf("pod %q: not known, expected one that the engine knows", podUID)
	}
	if n == nil || n.fact == nil {
		return "", fmt.Errorf("%s: node %q: not known", p.object(), node)
	}
	names := containerNames(p.obj)
	written := make([]annotations.ContainerSlices, len(names))
	for i := range names {
		written[i].Name = names[i]
	}
	for i, slice := range chosen {
		if int(slice.Container) >= len(written) || int(slice.Device) >= len(n.fact.Devices) {
			return "", fmt.Errorf("%s: slices[%d]: container %d on device %d, expected below %d and %d",
				p.object(), i, slice.Container, slice.Device, len(written), len(n.fact.Devices))
		}
		of, device := &written[slice.Container], n.fact.Devices[slice.Device]
		of.Slices = append(of.Slices, annotations.Slice{UUID: device.Uuid, Index: int(slice.Device),
			Mode: annotationMode(slice.Mode), Compute: slice.Compute, MemoryMiB: slice.MemoryMib,
			Instance: instanceOf(slice, device)})
	}
	return annotations.FormatSlices(slices.DeleteFunc(written, func(c annotations.ContainerSlices) bool { return len(c.Slices) == 0 }))
}

// engineSays is the aspect of an object's problems under which the engine's refusals stand.
const engineSays = "engine"

// RefusedByEngine: the engine did not take the fact, which Sync or Drain gave, and says why. It is
// sent again once it has changed; until then the pods of a refused job count as foreign ones.
func (f *Feed) RefusedByEngine(event *tephrav1.Event, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch fact := event.GetFact().(type) {
	case *tephrav1.Event_NodeUpserted:
		f.refuse(Object{Kind: "Node", Name: fact.NodeUpserted.Node.Name}, "", why)
	case *tephrav1.Event_QueueUpserted:
		f.refuse(Object{Kind: "Queue", Name: fact.QueueUpserted.Queue.Name}, "", why)
	case *tephrav1.Event_DomainUpserted:
		if d := f.domains[fact.DomainUpserted.Domain.Name]; d != nil {
			f.refuse(domainObject(d.obj), "", why)
		}
	case *tephrav1.Event_JobUpserted:
		uid := fact.JobUpserted.Job.Uid
		g := f.groupsOf[uid]
		if g == nil || g.fact != fact.JobUpserted.Job {
			return // it has changed meanwhile, and is sent again
		}
		g.refused = true
		f.refuse(groupObject(g.obj), uid, why)
		for uid := range g.pods {
			f.tellTasks.touch(uid)
		}
	case *tephrav1.Event_TaskUpserted:
		p := f.pods[fact.TaskUpserted.Task.Uid]
		if p == nil || p.group != nil && p.group.refused {
			return // its job was refused, which says it all
		}
		f.refuse(p.object(), fact.TaskUpserted.Task.Job, why)
	}
}

func (f *Feed) refuse(object Object, job, why string) {
	f.problems.set(object, engineSays, &Problem{Object: object, Job: job, Message: short(why)})
}
