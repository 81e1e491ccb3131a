package facts

import (
	"cmp"
	"strings"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// group is a pod group, its pods of ours, and what the engine knows of them.
type group struct {
	key  string                      // namespace/name
	obj  *schedulingv1beta1.PodGroup // nil: only its pods are known
	job  string                      // namespace/name of the Volcano Job that owns it; empty: none
	pods map[string]*pod             // by uid
	// The pods that its minimum asks for were all there once, and some still are.
	complete bool

	user               string // that the group names; empty: none
	protection         protection
	evictions          int32
	movable            bool
	checkpointInterval time.Duration // 0: it does not say
	held               []*tephrav1.RecordedReservation
	expected           time.Duration // of its run, as it says itself; 0: it does not

	fact      *tephrav1.Job // nil: the engine does not know it
	roles     map[slot]*pod // nil: the engine does not know its pods either
	templates []made        // what it asks for while its pods are not there
	refused   bool          // by the engine, as it is now
}

// slot is a task's place in its job.
type slot struct {
	role  string
	index int32
}

func (f *Feed) groupNamed(key string) *group {
	g := f.groups[key]
	if g == nil {
		g = &group{key: key, pods: map[string]*pod{}}
		f.groups[key] = g
	}
	return g
}

func (f *Feed) setGroup(obj *schedulingv1beta1.PodGroup) {
	g := f.groupNamed(obj.Namespace + "/" + obj.Name)
	if g.obj != nil && g.obj.UID != obj.UID {
		f.dropGroup(g.obj)
		g = f.groupNamed(g.key)
	}
	g.obj = obj
	if owner := jobOwner(obj); owner != nil {
		f.own(g, obj.Namespace+"/"+owner.Name)
	} else {
		f.own(g, "")
	}
	f.groupsOf[string(obj.UID)] = g
	if _, held := obj.Annotations[annotations.ReservedRoomKey]; held {
		f.holding[string(obj.UID)] = g
	} else {
		delete(f.holding, string(obj.UID))
	}
	f.readUser(g)
	f.readEvictability(g)
	f.readExpectedRuntime(g)
	f.dirtyGroups[g], f.moved[g.key] = true, true
}

func (f *Feed) dropGroup(obj *schedulingv1beta1.PodGroup) {
	g := f.groupsOf[string(obj.UID)]
	if g == nil {
		return
	}
	delete(f.groupsOf, string(obj.UID))
	delete(f.holding, string(obj.UID))
	f.tellJobs.touch(string(obj.UID))
	f.note(groupObject(obj), "", "", nil)
	f.problems.set(groupObject(obj), engineSays, nil)
	f.problems.set(groupObject(obj), userAspect, nil)
	f.problems.set(groupObject(obj), queueAspect, nil)
	f.forgetProtection(groupObject(obj))
	f.own(g, "")
	g.obj, g.complete, g.refused = nil, false, false
	f.dirtyGroups[g], f.moved[g.key] = true, true
}

// own notes which Volcano Job owns the group; empty: none.
func (f *Feed) own(g *group, job string) {
	if g.job == job {
		return
	}
	if owned := f.ofJob[g.job]; owned != nil {
		delete(owned, g)
		if len(owned) == 0 {
			delete(f.ofJob, g.job)
		}
	}
	g.job = job
	if job == "" {
		return
	}
	if f.ofJob[job] == nil {
		f.ofJob[job] = map[*group]bool{}
	}
	f.ofJob[job][g] = true
}

func groupObject(obj *schedulingv1beta1.PodGroup) Object {
	return Object{"PodGroup", obj.Namespace, obj.Name, string(obj.UID)}
}

func jobObject(job *batchv1alpha1.Job) Object {
	return Object{"Job", job.Namespace, job.Name, string(job.UID)}
}

func jobOwner(obj *schedulingv1beta1.PodGroup) *metav1.OwnerReference {
	for i, owner := range obj.OwnerReferences {
		if owner.Kind == "Job" && owner.APIVersion == batchv1alpha1.SchemeGroupVersion.String() {
			return &obj.OwnerReferences[i]
		}
	}
	return nil
}

func (f *Feed) setJob(obj *batchv1alpha1.Job) {
	key := obj.Namespace + "/" + obj.Name
	before := f.jobs[key]
	f.jobs[key] = obj
	if before == nil || before.UID != obj.UID || obj.Generation == 0 ||
		before.Generation != obj.Generation || jobEnded(before) != jobEnded(obj) {
		f.jobChanged(key)
	}
}

func (f *Feed) dropJob(obj *batchv1alpha1.Job) {
	key := obj.Namespace + "/" + obj.Name
	delete(f.jobs, key)
	f.jobChanged(key)
}

func (f *Feed) jobChanged(key string) {
	for g := range f.ofJob[key] {
		f.dirtyGroups[g] = true
	}
}

// jobEnded: no pod of the Job is to be started any more.
func jobEnded(job *batchv1alpha1.Job) bool {
	switch job.Status.State.Phase {
	case batchv1alpha1.Aborting, batchv1alpha1.Aborted, batchv1alpha1.Completing,
		batchv1alpha1.Completed, batchv1alpha1.Terminating, batchv1alpha1.Terminated,
		batchv1alpha1.Failed:
		return true
	}
	return false
}

func (f *Feed) setPriority(obj *schedulingv1.PriorityClass) {
	before := f.priorities[obj.Name]
	f.priorities[obj.Name] = obj
	if before == nil || before.Value != obj.Value || before.GlobalDefault != obj.GlobalDefault ||
		never(before.PreemptionPolicy) != never(obj.PreemptionPolicy) {
		f.allGroupsChanged()
	}
}

func (f *Feed) dropPriority(obj *schedulingv1.PriorityClass) {
	delete(f.priorities, obj.Name)
	f.allGroupsChanged()
}

func (f *Feed) allGroupsChanged() {
	for _, g := range f.groups {
		f.dirtyGroups[g] = true
	}
}

// priority is that of the class; of the cluster's default where it names none, or one that is not
// there, as in Volcano.
func (f *Feed) priority(class string) int32 {
	if known := f.priorities[class]; known != nil {
		return known.Value
	}
	for _, name := range sortedKeys(f.priorities) {
		if f.priorities[name].GlobalDefault {
			return f.priorities[name].Value
		}
	}
	return 0
}

// settle works out what the engine is to know of the group now.
func (f *Feed) settle(g *group) {
	defer f.noteMasks(g)
	for _, p := range g.pods {
		f.tellTasks.touch(p.uid) // its place may change, or it may have none any more
	}
	g.fact, g.roles, g.templates = nil, nil, nil
	if g.obj == nil || standsIn(g.obj) {
		f.standIn(g)
	}
	if g.obj == nil {
		if len(g.pods) == 0 {
			delete(f.groups, g.key)
		}
		return
	}
	f.tellJobs.touch(string(g.obj.UID))
	if len(g.pods) == 0 {
		g.complete = false
	}
	gang, problem := f.gangOf(g)
	if problem == nil {
		problem = gangBounds(g.obj, gang)
	}
	f.problems.set(groupObject(g.obj), "", problem)
	begun := g.complete || standsIn(g.obj)
	if problem != nil {
		gang, begun = f.gangOfHolders(g), true
	}
	if gang == nil {
		g.roles, g.templates = nil, nil
		f.problems.set(groupObject(g.obj), queueAspect, nil)
		return
	}
	g.fact = &tephrav1.Job{
		Uid:       string(g.obj.UID),
		Name:      g.userName(),
		Queue:     f.queueOf(g),
		Priority:  f.priority(g.obj.Spec.PriorityClassName),
		CreatedMs: g.obj.CreationTimestamp.UnixMilli(),
		Gang:      gang,
		PodsExist: begun,
		User:      g.user,
	}
	g.fact.Locality, _ = topologyOf(g.obj) // what is wrong with it gangOf has said
	f.tellEvictability(g, g.fact)
	g.fact.EstimatedRuntimeMs = g.estimatedRuntimeMs()
	g.fact.Image = g.image()
}

// userName is the name that the user gave it: Volcano names a Job's group by the Job's uid as well.
func (g *group) userName() string {
	if g.job != "" {
		return g.job
	}
	return g.key
}

// gangOf is what the group asks; nil: there is nothing to ask of the engine. It gives the pods of
// the group their places, or lists the templates of those to come.
func (f *Feed) gangOf(g *group) (*tephrav1.Gang, *Problem) {
	if standsIn(g.obj) {
		return f.gangOfHolders(g), nil
	}
	if g.obj.Status.Phase == schedulingv1beta1.PodGroupCompleted && !g.active() {
		return nil, nil
	}
	job := f.jobs[g.job]
	if owner := jobOwner(g.obj); job != nil && job.UID != owner.UID {
		job = nil
	}
	if job != nil && jobEnded(job) {
		return nil, nil
	}
	if job != nil {
		if wrong := jobBounds(job); wrong != nil && f.oursByJob(job) {
			problem := wrong.of(jobObject(job), string(g.obj.UID))
			return nil, &problem
		}
	}
	sub, wrong := subGroupsOf(g.obj)
	if wrong == nil {
		_, wrong = topologyOf(g.obj)
	}
	if wrong != nil {
		problem := wrong.of(groupObject(g.obj), string(g.obj.UID))
		return nil, &problem
	}
	if !f.options.Admit && isPending(g.obj) && !g.started() {
		return nil, nil // until Volcano admits it
	}
	present := g.present()
	g.complete = g.complete || g.isComplete(present)
	if g.complete {
		return f.gangByPods(g, sub, job, present)
	}
	if len(present) == 0 && len(g.pods) > 0 {
		return nil, nil // they end, and it is not known yet what follows them
	}
	if !f.options.Admit || job == nil && g.job != "" {
		return nil, nil // a Job that owns it will come, or is gone
	}
	if len(present) == 0 && podsComeFirst(g.obj) {
		return nil, nil // it is suspended, or its pods are about to come
	}
	if job != nil {
		return f.gangByJob(g, sub, job)
	}
	return f.gangByResources(g, present)
}

// minTask are the minima of the roles. As in Volcano they do not count where the group as a whole
// asks for less. The name "" is that of pods which name no task.
func minTask(obj *schedulingv1beta1.PodGroup) map[string]int32 {
	var sum int32
	out := map[string]int32{}
	for role, least := range obj.Spec.MinTaskMember {
		sum += least
		out[cmp.Or(role, memberRole)] += least
	}
	if obj.Spec.MinMember < sum {
		return nil
	}
	return out
}

// podsComeFirst: the owner of the group makes its pods without waiting until the group is admitted. So a group without pods asks
// for nothing: a RayCluster or a Job that is suspended keeps its group. A training operator, in contrast, waits.
func podsComeFirst(obj *schedulingv1beta1.PodGroup) bool {
	owner := metav1.GetControllerOf(obj)
	if owner == nil {
		return false
	}
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	switch group {
	case "v1", "apps", "batch", "jobset.x-k8s.io", "ray.io", "trainer.kubeflow.org":
		return true
	}
	return false
}

func isPending(obj *schedulingv1beta1.PodGroup) bool {
	return obj.Status.Phase == "" || obj.Status.Phase == schedulingv1beta1.PodGroupPending
}

// active: some pod of the group waits for a node, or has one. Volcano calls a group completed as soon as all that it
// saw running has ended, so a pod may be bound at that moment, and its queue is still charged for it.
func (g *group) active() bool {
	for _, p := range g.pods {
		if asks(p.obj) || bound(p.obj) || p.inFlight() {
			return true
		}
	}
	return false
}

func (g *group) started() bool {
	for _, p := range g.pods {
		if p.obj.Spec.NodeName != "" || p.handed != nil {
			return true
		}
	}
	return false
}

// isComplete: the pods that the minimum asks for are there, or some were started, so they had been.
func (g *group) isComplete(present []*pod) bool {
	if len(present) == 0 {
		return false
	}
	switch g.obj.Status.Phase {
	case schedulingv1beta1.PodGroupRunning, schedulingv1beta1.PodGroupUnknown:
		return true
	}
	roles := map[string]int32{}
	for _, p := range present {
		if p.obj.Spec.NodeName != "" || p.handed != nil || ended(p.obj) {
			return true
		}
		roles[p.role()]++
	}
	for role, least := range minTask(g.obj) {
		if roles[role] < least {
			return false
		}
	}
	return int32(len(present)) >= g.obj.Spec.MinMember
}
