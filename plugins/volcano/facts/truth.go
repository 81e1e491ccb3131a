package facts

import "tephra.sh/volcano/tephrav1"

// What is true of each object, as the engine is to know it; false: nothing.

func (f *Feed) queueFact(name string) (*tephrav1.Queue, bool) {
	q := f.queues[name]
	if q == nil || q.fact == nil {
		return nil, false
	}
	return q.fact, true
}

func (f *Feed) nodeFact(name string) (*tephrav1.Node, bool) {
	n := f.nodes[name]
	if n == nil || n.fact == nil {
		return nil, false
	}
	return n.fact, true
}

func (f *Feed) maskFact(name string) ([]string, bool) {
	excluded, known := f.masks[name]
	return excluded, known
}

func (f *Feed) jobFact(uid string) (*tephrav1.Job, bool) {
	g := f.groupsOf[uid]
	if g == nil || g.fact == nil {
		return nil, false
	}
	return g.fact, true
}

func (f *Feed) taskFact(uid string) (reportedTask, bool) {
	p := f.pods[uid]
	if p == nil {
		return reportedTask{}, false
	}
	if p.inFlight() && !f.whole && !p.handed.tell {
		// The binding has not failed yet: what was reported last stands, even that the pod is pending, which the
		// engine takes for "is being bound".
		before, known := f.tellTasks.reported[uid]
		return before, known
	}
	fact := &tephrav1.Task{Uid: uid, Phase: taskPhase(p.obj)}
	switch {
	case bound(p.obj):
		fact.Node = p.obj.Spec.NodeName
		fact.Slices = slicesOf(p)
	case p.inFlight():
		fact.Phase = tephrav1.TaskPhase_TASK_PHASE_RUNNING
		fact.Node, fact.Slices = p.handed.node, p.handed.slices
	}
	if fact.Node != "" {
		fact.DisruptionBudgets = f.budgetsOf(p.obj)
	}
	if g := p.group; g != nil && g.fact != nil && !g.refused && g.roles[p.slot] == p {
		if fact.Phase == tephrav1.TaskPhase_TASK_PHASE_PENDING && !asks(p.obj) {
			return reportedTask{}, false
		}
		fact.Job, fact.Role, fact.Index = string(g.obj.UID), p.slot.role, p.slot.index
		if fact.Node != "" {
			p.tellOwnEvictability(fact, g.fact)
		}
		if bound(p.obj) {
			fact.StartedMs, fact.CheckpointedMs = p.since()
		}
		fact.TerminatesByMs = p.terminatesBy(fact.Phase)
		return reportedTask{fact, p.shape}, true
	}
	if fact.Node == "" {
		return reportedTask{}, false
	}
	if p.load == nil {
		p.load, _ = f.translator.load(p.obj, f.nodeOf(p), false)
	}
	fact.Pod = p.load
	fact.TerminatesByMs = p.terminatesBy(fact.Phase)
	return reportedTask{fact, nil}, true
}

// since is from when the pod runs and when it last saved what it has done, in ms; 0: not known.
func (p *pod) since() (started, checkpointed int64) {
	if p.obj.Status.StartTime != nil {
		started = max(0, p.obj.Status.StartTime.UnixMilli())
	}
	if !p.checkpointed.IsZero() {
		checkpointed = p.checkpointed.UnixMilli()
	}
	return started, checkpointed
}

// terminatesBy is when the grace period of a pod that terminates ends, in ms; 0: it does not terminate. The
// API server adds the grace period to the time of the deletion.
func (p *pod) terminatesBy(phase tephrav1.TaskPhase) int64 {
	if phase != tephrav1.TaskPhase_TASK_PHASE_RELEASING || p.obj.DeletionTimestamp.IsZero() {
		return 0
	}
	return max(0, p.obj.DeletionTimestamp.UnixMilli())
}

// slicesOf are the slices that the pod's annotation names, or, if it has none, the slices that it was
// bound with. Empty: the engine assumes the lowest free devices.
func slicesOf(p *pod) []*tephrav1.Slice {
	if p.slices == nil && p.handed != nil && p.handed.node == p.obj.Spec.NodeName {
		return p.handed.slices
	}
	return p.slices
}
