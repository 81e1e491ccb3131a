package facts

import (
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/tephrav1"
)

// The aspects of an object's problems that concern its eviction: one does not hide another.
const (
	preemptableAspect        = "preemptable"
	cooldownAspect           = "cooldown"
	minRuntimeAspect         = "min-runtime"
	checkpointIntervalAspect = "checkpoint-interval"
	checkpointAspect         = "checkpoint"
	evictionsAspect          = "evictions"
	movableAspect            = "movable"
	onMigrationAspect        = "on-migration"
	heldAspect               = "held"
	evictionDelayAspect      = "eviction-delay" // of a queue
)

// protection is what an object says against being evicted.
type protection struct {
	never  bool
	minRun time.Duration // from its start
}

// protectionOf reads Volcano's words for it, which are annotations or labels, and notes what of them
// cannot be read.
func (f *Feed) protectionOf(object Object, meta *metav1.ObjectMeta) protection {
	never, wrong := notPreemptable(meta)
	f.note(object, preemptableAspect, "", wrong)
	cooldown, wrong := cooldownTime(meta)
	f.note(object, cooldownAspect, "", wrong)
	return protection{never, cooldown}
}

// notPreemptable is read as Volcano does: an annotation goes before a label, and a text that cannot be
// read protects.
func notPreemptable(meta *metav1.ObjectMeta) (bool, *fault) {
	field, text, given := said("annotations", meta.Annotations, "labels", meta.Labels, schedulingv1beta1.PodPreemptable)
	if !given {
		return false, nil
	}
	preemptable, err := strconv.ParseBool(text)
	if err != nil {
		return true, &fault{field, strconv.Quote(text), `"true" or "false"; until then its pods are not evicted`}
	}
	return !preemptable, nil
}

// cooldownTime is read as Volcano does: here a label goes before an annotation.
func cooldownTime(meta *metav1.ObjectMeta) (time.Duration, *fault) {
	field, text, given := said("labels", meta.Labels, "annotations", meta.Annotations, schedulingv1beta1.CooldownTime)
	if !given {
		return 0, nil
	}
	cooldown, err := annotations.ParseDuration(schedulingv1beta1.CooldownTime, text)
	if err != nil {
		wrong := annotationFault(err)
		wrong.field = field
		return 0, wrong
	}
	return cooldown, nil
}

// said looks into the first set, then into the second.
func said(first string, in map[string]string, second string, then map[string]string, key string) (field, text string, given bool) {
	field = first
	if text, given = in[key]; !given {
		field = second
		text, given = then[key]
	}
	return "metadata." + field + "[" + key + "]", text, given
}

// readProtection notes what a pod of ours says about its eviction; true: it says something else than
// before.
func (f *Feed) readProtection(p *pod) bool {
	before := p.protection
	p.protection = f.protectionOf(p.object(), &p.obj.ObjectMeta)
	var wrong *fault
	p.checkpointed = time.Time{}
	if text, given := p.obj.Annotations[annotations.LastCheckpointKey]; given {
		at, err := annotations.ParseLastCheckpoint(text)
		if err != nil {
			wrong = annotationFault(err)
		}
		p.checkpointed = at
	}
	f.note(p.object(), checkpointAspect, "", wrong)
	return p.protection != before
}

func (f *Feed) forgetProtection(object Object) {
	for _, aspect := range []string{preemptableAspect, cooldownAspect, minRuntimeAspect, checkpointAspect, checkpointIntervalAspect,
		evictionsAspect, movableAspect, onMigrationAspect, heldAspect, expectedRuntimeAspect} {
		f.problems.set(object, aspect, nil)
	}
}

// readEvictability notes what the group itself says about its eviction. REQUIRES: it is known.
func (f *Feed) readEvictability(g *group) {
	object := groupObject(g.obj)
	g.protection = f.protectionOf(object, &g.obj.ObjectMeta)
	var wrong *fault
	if text, given := g.obj.Annotations[annotations.MinRuntimeKey]; given {
		runtime, err := annotations.ParseDuration(annotations.MinRuntimeKey, text)
		if err != nil {
			wrong = annotationFault(err)
		}
		g.protection.minRun = max(g.protection.minRun, runtime)
	}
	f.note(object, minRuntimeAspect, "", wrong)
	g.checkpointInterval, wrong = checkpointInterval(g.obj)
	f.note(object, checkpointIntervalAspect, "", wrong)
	g.evictions, wrong = evictions(g.obj)
	f.note(object, evictionsAspect, "", wrong)
	g.movable, wrong = movable(g.obj)
	f.note(object, movableAspect, "", wrong)
	g.held, wrong = reservedRoom(g.obj)
	f.note(object, heldAspect, "", wrong)
}

// tellEvictability fills in what the group says, and what its pods say of all of them.
func (f *Feed) tellEvictability(g *group, job *tephrav1.Job) {
	minRun := g.protection.minRun
	for _, p := range g.pods {
		minRun = max(minRun, p.protection.minRun)
	}
	job.NotPreemptible, job.MinRunMs = g.protection.never, minRun.Milliseconds()
	job.Evictions, job.Held = g.evictions, g.held
	alone, wrong := restartsByTask(g.obj, f.jobs[g.job])
	f.note(groupObject(g.obj), onMigrationAspect, "", wrong)
	job.Movable, job.RestartsByTask = g.movable, alone
	job.CheckpointIntervalMs = min(g.checkpointInterval.Milliseconds(), mostRunMs)
	job.NeverEvicts = f.neverEvicts(g)
}

// neverEvicts: the group's priority class says so or one of its pods does, for they start together.
func (f *Feed) neverEvicts(g *group) bool {
	if class := f.priorities[g.obj.Spec.PriorityClassName]; class != nil && never(class.PreemptionPolicy) {
		return true
	}
	for _, p := range g.pods {
		if never(p.obj.Spec.PreemptionPolicy) {
			return true
		}
	}
	return slices.ContainsFunc(g.templates, func(m made) bool { return never(m.pod.Spec.PreemptionPolicy) })
}

func never(policy *corev1.PreemptionPolicy) bool {
	return policy != nil && *policy == corev1.PreemptNever
}

// tellOwnEvictability fills in what a pod that runs says of itself.
func (p *pod) tellOwnEvictability(task *tephrav1.Task, job *tephrav1.Job) {
	task.NotPreemptible = p.protection.never
	if own := p.obj.Spec.Priority; own != nil && *own > job.GetPriority() {
		task.Priority = own
	}
}

func evictions(obj *schedulingv1beta1.PodGroup) (int32, *fault) {
	text, given := obj.Annotations[annotations.EvictionsKey]
	if !given {
		return 0, nil
	}
	count, err := annotations.ParseEvictions(text)
	if err != nil {
		return 0, annotationFault(err)
	}
	return count, nil
}

// A value that cannot be read lets no pod move.
func movable(obj *schedulingv1beta1.PodGroup) (bool, *fault) {
	text, given := obj.Annotations[annotations.MovableKey]
	if !given {
		return false, nil
	}
	may, err := annotations.ParseMovable(text)
	if err != nil {
		return false, annotationFault(err)
	}
	return may, nil
}

// checkpointInterval: 0 if the group does not say how often its pods save their work.
func checkpointInterval(obj *schedulingv1beta1.PodGroup) (time.Duration, *fault) {
	text, given := obj.Annotations[annotations.CheckpointIntervalKey]
	if !given {
		return 0, nil
	}
	interval, err := annotations.ParseDuration(annotations.CheckpointIntervalKey, text)
	if err != nil {
		return 0, annotationFault(err)
	}
	return interval, nil
}

// OnceMoreEvicted is the value of the annotation tephra.sh/evictions after the one that stands there.
func OnceMoreEvicted(before string) string {
	count, err := annotations.ParseEvictions(before)
	if err != nil || count == math.MaxInt32 {
		return annotations.FormatEvictions(max(count, 1))
	}
	return annotations.FormatEvictions(count + 1)
}
