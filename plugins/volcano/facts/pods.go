package facts

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// pod is a pod of the cluster, ours or not.
type pod struct {
	uid   string
	obj   *corev1.Pod
	group *group // nil: not ours
	node  *node  // that it is bound to; nil: none
	kin   *kin   // nil: it has ended

	shape  *shape // of ours, as the engine is to place it; nil if wrong, unless it holds room
	wrong  *fault
	load   *tephrav1.PodTemplate // as a foreign pod; nil: not read yet
	slot   slot
	placed bool              // slot is set
	slices []*tephrav1.Slice // that it was given, while it is bound
	given  annotations.Given // what the scheduler said of it, while it is bound; no node: nothing that counts

	protection   protection
	checkpointed time.Time // zero: it does not say

	handed *handover // nil: we have not bound it
}

// nodeOf is the node that the pod runs on, or ran on; nil: none, or one that is not known.
func (f *Feed) nodeOf(p *pod) *tephrav1.Node {
	if n := f.nodes[p.obj.Spec.NodeName]; n != nil {
		return n.fact
	}
	return nil
}

func (p *pod) object() Object { return Object{"Pod", p.obj.Namespace, p.obj.Name, p.uid} }

// groupOf is the pod group of a pod of ours; empty: it is not ours.
func (f *Feed) groupOf(obj *corev1.Pod) string {
	name := obj.Annotations[schedulingv1beta1.KubeGroupNameAnnotationKey]
	if name == "" || !f.ours(obj.Spec.SchedulerName) {
		return ""
	}
	return obj.Namespace + "/" + name
}

func (f *Feed) setPod(obj *corev1.Pod) {
	p := f.pods[string(obj.UID)]
	if p == nil {
		p = &pod{uid: string(obj.UID)}
		f.pods[p.uid] = p
	} else if obj.ResourceVersion != "" && p.obj.ResourceVersion == obj.ResourceVersion {
		return
	}
	before := p.obj
	p.obj = obj
	p.load = nil
	if before != nil && before.Spec.NodeName != "" && obj.Spec.NodeName == "" {
		p.handed = nil // the API server was restored to a revision before the binding
	}
	f.tellTasks.touch(p.uid)

	if ended(obj) {
		f.translator.apart.remove(p)
	} else {
		f.translator.apart.set(p)
	}
	if before == nil || ended(before) != ended(obj) || before.Spec.NodeName != obj.Spec.NodeName {
		f.translator.volumes.set(p, !ended(obj))
		f.volumesMoved(p)
	}
	f.seat(p)
	if before == nil || before.Spec.NodeName != obj.Spec.NodeName || ended(before) != ended(obj) ||
		before.Annotations[annotations.SlicesKey] != obj.Annotations[annotations.SlicesKey] ||
		before.Annotations[annotations.QueueKey] != obj.Annotations[annotations.QueueKey] ||
		before.Annotations[annotations.SignatureKey] != obj.Annotations[annotations.SignatureKey] {
		f.readGiven(p)
		f.readSlices(p)
		f.noteSlots(p)
	}
	f.join(p, f.groupOf(obj))
	if p.group == nil {
		return
	}
	f.moved[p.group.key] = true
	shape := p.shape
	f.reshape(p)
	if changed := f.readProtection(p); changed || before == nil || shape != p.shape || before.Spec.NodeName != obj.Spec.NodeName ||
		ended(before) != ended(obj) || (before.DeletionTimestamp == nil) != (obj.DeletionTimestamp == nil) ||
		(before.Spec.SchedulingGates == nil) != (obj.Spec.SchedulingGates == nil) {
		f.dirtyGroups[p.group] = true
	}
}

func (f *Feed) dropPod(obj *corev1.Pod) {
	p := f.pods[string(obj.UID)]
	if p == nil {
		return
	}
	delete(f.pods, p.uid)
	f.tellTasks.touch(p.uid)
	f.translator.apart.remove(p)
	f.translator.volumes.set(p, false)
	f.volumesMoved(p)
	f.leaveNode(p)
	f.join(p, "")
	f.note(p.object(), "", "", nil)
	f.note(p.object(), slicesAspect, "", nil)
	f.note(p.object(), signatureAspect, "", nil)
	f.note(p.object(), masksAspect, "", nil)
	f.note(p.object(), slotsAspect, "", nil)
	f.problems.set(p.object(), engineSays, nil)
}

const slicesAspect = "slices"

// readSlices reads what a bound pod was given, off the path of the cycle.
func (f *Feed) readSlices(p *pod) {
	p.slices = nil
	var wrong *fault
	if p.node != nil && p.given.Slices != "" {
		p.slices, wrong = podSlices(p.obj, p.given.Slices, p.node.fact)
	}
	f.note(p.object(), slicesAspect, "", wrong)
}

// reshape reads the pod again. REQUIRES: it is one of ours.
func (f *Feed) reshape(p *pod) {
	shape, wrong := f.translator.shapeOf(p.obj, f.nodeOf(p))
	if shape != p.shape || wrong != nil || p.wrong != nil {
		f.dirtyGroups[p.group] = true
	}
	p.shape, p.wrong = shape, wrong
}

// join makes the pod one of the group's, and of no other's.
func (f *Feed) join(p *pod, key string) {
	if p.group != nil && p.group.key == key {
		return
	}
	if p.group != nil {
		f.moved[p.group.key] = true
		delete(p.group.pods, p.uid)
		f.dirtyGroups[p.group] = true
		p.group, p.placed = nil, false
		f.forgetProtection(p.object())
	}
	if key != "" {
		p.group = f.groupNamed(key)
		p.group.pods[p.uid] = p
		f.dirtyGroups[p.group] = true
	}
}

// seat lists the pod with the node that it is bound to, or ran on until it ended.
func (f *Feed) seat(p *pod) {
	if p.obj.Spec.NodeName == "" {
		f.leaveNode(p)
		return
	}
	n := f.nodeNamed(p.obj.Spec.NodeName)
	if p.node != n {
		f.leaveNode(p)
		p.node = n
		n.pods[p] = true
	}
}

func (f *Feed) leaveNode(p *pod) {
	if p.node == nil {
		return
	}
	delete(p.node.pods, p)
	if p.node.obj == nil && len(p.node.pods) == 0 {
		delete(f.nodes, p.node.name)
	}
	p.node = nil
}
