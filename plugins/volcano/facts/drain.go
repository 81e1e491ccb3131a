package facts

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"tephra.sh/volcano/tephrav1"
)

// reportedTask is what the engine knows of a pod.
type reportedTask struct {
	fact  *tephrav1.Task
	shape *shape // of its role; nil: described as a foreign pod
}

func sameMessage[M proto.Message](a, b M) bool { return proto.Equal(a, b) }

func sameTask(a, b reportedTask) bool {
	return a.shape == b.shape && samePlace(a, b) && a.fact.Phase == b.fact.Phase &&
		a.fact.Node == b.fact.Node && a.fact.StartedMs == b.fact.StartedMs &&
		a.fact.CheckpointedMs == b.fact.CheckpointedMs && a.fact.NotPreemptible == b.fact.NotPreemptible &&
		samePriority(a.fact, b.fact) && slices.Equal(a.fact.DisruptionBudgets, b.fact.DisruptionBudgets) &&
		slices.EqualFunc(a.fact.Slices, b.fact.Slices, sameSlice) &&
		(a.fact.Pod == b.fact.Pod || proto.Equal(a.fact.Pod, b.fact.Pod))
}

func samePriority(a, b *tephrav1.Task) bool {
	return (a.Priority == nil) == (b.Priority == nil) && a.GetPriority() == b.GetPriority()
}

func samePlace(a, b reportedTask) bool {
	return a.fact.Job == b.fact.Job && a.fact.Role == b.fact.Role && a.fact.Index == b.fact.Index
}

func sameSlice(a, b *tephrav1.Slice) bool {
	return a.Container == b.Container && a.Device == b.Device && a.Mode == b.Mode &&
		a.Compute == b.Compute && a.MemoryMib == b.MemoryMib && a.MigProfile == b.MigProfile && a.MigStart == b.MigStart
}

// Sync is everything that is true now, for an engine that knows nothing: resource kinds, queues,
// nodes, domains, disruption budgets, masks, jobs, tasks, each by name.
func (f *Feed) Sync() []*tephrav1.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.translator.kinds.left) > 0 {
		f.chooseKinds()
	}
	f.kindsReported = 0
	f.tellQueues.forget(sortedKeys(f.queues))
	f.tellNodes.forget(sortedKeys(f.nodes))
	f.tellDomains.forget(f.domainNames())
	var budgets []string
	for namespace, in := range f.budgets {
		for name := range in {
			budgets = append(budgets, namespace+"/"+name)
		}
	}
	f.tellBudgets.forget(budgets)
	f.tellMasks.forget(sortedKeys(f.masks))
	f.tellJobs.forget(sortedKeys(f.groupsOf))
	f.tellTasks.forget(sortedKeys(f.pods))
	for _, g := range f.groups {
		g.refused = false
	}
	f.whole = true
	defer func() { f.whole = false }()
	return f.drain()
}

// Drain is what has changed since the last Sync or Drain, each object once; an object that came and went
// between is left out.
func (f *Feed) Drain() []*tephrav1.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.drain()
}

// drain writes the facts so that each one comes after the facts that it needs: a job after the masks
// that its pods name, a task after its job, a removal after the removals of its users.
func (f *Feed) drain() []*tephrav1.Event {
	f.settleAll()
	var out []*tephrav1.Event
	if names := f.translator.kinds.names; len(names) > f.kindsReported {
		f.kindsReported = len(names)
		out = append(out, &tephrav1.Event{Fact: &tephrav1.Event_KindsDeclared{
			KindsDeclared: &tephrav1.KindsDeclared{Names: slices.Clone(names)}}})
	}
	queues, nodes := f.tellQueues.news(f.queueFact), f.tellNodes.news(f.nodeFact)
	domains, budgets := f.tellDomains.news(f.domainFact), f.tellBudgets.news(f.disruptionBudgetFact)
	masks, jobs := f.tellMasks.news(f.maskFact), f.tellJobs.news(f.jobFact)
	for _, job := range jobs {
		f.retell(job)
	}
	tasks := f.tellTasks.news(f.taskFact)
	f.forgetRefusals(queues, nodes, domains, tasks)

	out = upserts(f, out, queues, queueUpserted)
	out = upserts(f, out, nodes, nodeUpserted)
	out = upserts(f, out, domains, domainUpserted)
	out = upserts(f, out, budgets, disruptionBudgetUpserted)
	out = upserts(f, out, masks, maskUpserted)
	out = removals(out, jobs, jobRemoved)
	out = upserts(f, out, jobs, jobUpserted)
	for _, task := range tasks {
		if task.had && (!task.has || leavesItsPlace(task.was, task.is)) {
			out = append(out, taskRemoved(task.name))
		}
	}
	out = upserts(f, out, tasks, taskUpserted)
	out = removals(out, masks, maskRemoved)
	out = removals(out, budgets, disruptionBudgetRemoved)
	out = removals(out, domains, domainRemoved)
	out = removals(out, nodes, nodeRemoved)
	out = removals(out, queues, queueRemoved)
	return out
}

func upserts[T any](f *Feed, out []*tephrav1.Event, all []news[T], event func(news[T], uint64) *tephrav1.Event) []*tephrav1.Event {
	for _, one := range all {
		if one.has {
			out = append(out, event(one, f.next()))
		}
	}
	return out
}

func removals[T any](out []*tephrav1.Event, all []news[T], event func(name string) *tephrav1.Event) []*tephrav1.Event {
	for _, one := range all {
		if !one.has {
			out = append(out, event(one.name))
		}
	}
	return out
}

// forgetRefusals: what is sent again has not been refused.
func (f *Feed) forgetRefusals(queues []news[*tephrav1.Queue], nodes []news[*tephrav1.Node], domains []news[*tephrav1.Domain],
	tasks []news[reportedTask]) {
	if len(f.problems.standing) == 0 {
		return
	}
	for _, queue := range queues {
		f.problems.set(Object{Kind: "Queue", Name: queue.name}, engineSays, nil)
	}
	for _, node := range nodes {
		f.problems.set(Object{Kind: "Node", Name: node.name}, engineSays, nil)
	}
	for _, domain := range domains {
		if d := f.domains[domain.name]; d != nil {
			f.problems.set(domainObject(d.obj), engineSays, nil)
		}
	}
	for _, task := range tasks {
		if p := f.pods[task.name]; p != nil {
			f.problems.set(p.object(), engineSays, nil)
		}
	}
}

func (f *Feed) next() uint64 {
	f.version++
	return f.version
}

// leavesItsPlace: the engine keeps what a running task was started with. To be charged in another
// place, or as something else, it has to go first.
func leavesItsPlace(was, is reportedTask) bool {
	holdsRoom := was.fact.Phase == tephrav1.TaskPhase_TASK_PHASE_RUNNING ||
		was.fact.Phase == tephrav1.TaskPhase_TASK_PHASE_RELEASING
	return was.shape != nil && is.shape != nil &&
		(!samePlace(was, is) || holdsRoom && was.shape != is.shape)
}

// retell: the tasks of a job that comes or goes are sent again, as its tasks or as foreign pods.
func (f *Feed) retell(job news[*tephrav1.Job]) {
	g := f.groupsOf[job.name]
	if g == nil {
		return // its pods were touched when it went
	}
	wasRefused := g.refused
	g.refused = false
	if wasRefused {
		f.problems.set(groupObject(g.obj), engineSays, nil)
	}
	if wasRefused || job.had != job.has {
		for uid := range g.pods {
			f.tellTasks.touch(uid)
			if wasRefused {
				delete(f.tellTasks.reported, uid)
			}
		}
	}
}

// settleAll brings everything that is derived up to date.
func (f *Feed) settleAll() {
	if f.modelsChanged {
		f.modelsChanged = false
		for _, p := range f.pods {
			if !f.translator.dependsOnNodes(p.obj) {
				continue
			}
			if p.group != nil {
				f.reshape(p)
			}
			p.load = nil
			f.tellTasks.touch(p.uid)
		}
		f.podlessGroupsChanged()
	}
	if f.offersChanged {
		f.offersChanged = false
		for _, p := range f.pods {
			if p.group != nil && p.wrong != nil {
				f.reshape(p)
			}
		}
		f.podlessGroupsChanged()
	}
	if len(f.translator.apart.changes) > 0 {
		for kin := range f.translator.apart.changes {
			for p := range kin.pods {
				if p.group != nil {
					f.reshape(p)
				}
				p.load = nil
				f.tellTasks.touch(p.uid)
			}
		}
		clear(f.translator.apart.changes)
		f.podlessGroupsChanged()
	}
	f.settleVolumes()
	f.pruneShapes()
	f.pruneMasks()
	for f.settleGroups(); len(f.translator.kinds.names) > f.kindsRead; f.settleGroups() {
		f.kindsChanged()
	}
	f.noteKindsLeft()
}

// settleGroups settles the groups that have changed, which may declare kinds.
func (f *Feed) settleGroups() {
	for len(f.dirtyGroups) > 0 {
		dirty := make([]*group, 0, len(f.dirtyGroups))
		for g := range f.dirtyGroups {
			dirty = append(dirty, g)
		}
		clear(f.dirtyGroups)
		slices.SortFunc(dirty, func(a, b *group) int { return strings.Compare(a.key, b.key) })
		for _, g := range dirty {
			f.settle(g)
		}
	}
}

// podlessGroupsChanged: groups whose pods do not exist yet are read again, and groups that could not be
// described, of which nothing is known.
func (f *Feed) podlessGroupsChanged() {
	for _, g := range f.groups {
		if len(g.templates) > 0 || g.obj != nil && f.problems.stands(groupObject(g.obj), "") {
			f.dirtyGroups[g] = true
		}
	}
}

// kindsChanged: nodes, foreign pods, and invalid pods that run name only the kinds that were known when
// they were read.
func (f *Feed) kindsChanged() {
	f.kindsRead = len(f.translator.kinds.names)
	for _, n := range f.nodes {
		if n.obj != nil {
			f.readNode(n)
		}
	}
	for _, p := range f.pods {
		if p.load != nil {
			p.load = nil
			f.tellTasks.touch(p.uid)
		}
		if p.group != nil && p.wrong != nil && p.shape != nil {
			p.shape = nil
			f.dirtyGroups[p.group] = true
		}
	}
}

// chooseKinds gives the numbers again, to what is asked for now.
func (f *Feed) chooseKinds() {
	for _, name := range sortedKeys(f.translator.kinds.left) {
		f.note(Object{Kind: "Resource", Name: name}, "", "", nil)
	}
	f.translator.kinds = kinds{words: f.translator.words, offered: f.translator.kinds.offered}
	for _, name := range sortedKeys(f.queues) {
		f.readQueue(f.queues[name])
	}
	for _, key := range sortedKeys(f.groups) {
		for _, p := range f.groups[key].present() {
			f.reshape(p)
		}
		f.dirtyGroups[f.groups[key]] = true
	}
	f.kindsChanged()
}

func (f *Feed) noteKindsLeft() {
	for _, name := range sortedKeys(f.translator.kinds.left) {
		f.note(Object{Kind: "Resource", Name: name}, "", "", &fault{"requests", "one resource kind too many",
			"at most 11 extended resources in all requests; only Volcano's predicates check this one"})
	}
}

// pruneMasks forgets masks that no pod names any more.
func (f *Feed) pruneMasks() {
	if len(f.masks) <= f.masksWorth {
		return
	}
	used := map[string]bool{}
	for _, g := range f.groups {
		for _, p := range g.pods {
			if p.shape != nil {
				used[p.shape.mask] = true
			}
		}
		for _, template := range g.templates {
			used[template.shape.mask] = true
		}
	}
	for name := range f.masks {
		if !used[name] {
			delete(f.masks, name)
			f.tellMasks.touch(name)
		}
	}
	f.masksWorth = 16 + 2*len(f.masks)
}

// pruneShapes forgets shapes that no pod has any more.
func (f *Feed) pruneShapes() {
	const spare = 1024
	if len(f.translator.shapes) < spare+2*len(f.pods) {
		return
	}
	used := map[*shape]bool{}
	for _, p := range f.pods {
		used[p.shape] = true
	}
	for _, g := range f.groups {
		for _, template := range g.templates {
			used[template.shape] = true
		}
	}
	for key, shape := range f.translator.shapes {
		if !used[shape] {
			delete(f.translator.shapes, key)
		}
	}
}

// Forget drops what the next Drain, Moved and DrainProblems would say of objects that came and went. A process that
// stands by for months calls it from time to time, so that its memory follows the objects that exist. What is true now
// is in the next Sync, and problems that stand are still drained.
func (f *Feed) Forget() {
	f.Drain()
	f.Moved()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems.forget()
}
