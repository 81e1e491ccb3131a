package action

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	pb "tephra.sh/volcano/tephrav1"
)

// cause is why a task is evicted; a label of a metric.
type cause string

const (
	reclaimed cause = "reclaimed" // its queue holds more than its share
	preempted cause = "preempted" // for a job of its own queue that goes before it
	moved     cause = "moved"     // it goes on elsewhere, in reserved room
	unwound   cause = "unwound"   // its own gang could not be completed
	repaired  cause = "repaired"  // its own gang leaves unhealthy devices
)

// victim is a task that is to go, with the reason that its pod will show.
type victim struct {
	task   *api.TaskInfo
	gang   *api.JobInfo
	cause  cause
	reason string
}

// makeRoom carries out a decision to start a gang once its victims have ended: it writes down the reserved room,
// then evicts the victims. It does all of it, or nothing, and then reports that to the engine.
//
// A group without pods is admitted at once: its pods are made while the others go, and the engine
// decides again, by what the pods are, where the room is that the victims leave.
func (a *Action) makeRoom(ctx context.Context, ssn *framework.Session, decision *pb.Decision) (outcome, string) {
	job, gang, missing := a.gangOf(ssn, decision.GetJob())
	if missing != "" {
		return a.later(decision, missing)
	}
	victims, missing := a.victimsFor(ssn, job, decision)
	if missing != "" {
		return a.later(decision, missing)
	}
	delete(a.lagging, decision.GetJob())
	if err := a.reservations.set(ctx, ssn, job, gang, decision.GetPlacements()); err != nil {
		why := "no pod is evicted for the gang, because its reserved room could not be written down: " + err.Error()
		group := facts.Object{Kind: "PodGroup", Namespace: job.Namespace, Name: job.Name, UID: job.UID}
		a.options.Recorder.Event(reference(apiVersions["PodGroup"], group), v1.EventTypeWarning, "ReservationNotWritten", why)
		return a.stale(decision, why)
	}
	if !job.HasPods {
		admit(gang)
	}
	evict(ssn, victims)
	return reserved, ""
}

// later leaves the decision to the next session, if it has not been left for long enough.
func (a *Action) later(decision *pb.Decision, missing string) (outcome, string) {
	if a.lagging.wait(decision) {
		return behind, missing
	}
	return a.stale(decision, missing)
}

// gangOf is the job as the facts and the session have it; a text where one of them has not.
func (a *Action) gangOf(ssn *framework.Session, uid string) (facts.JobRef, *api.JobInfo, string) {
	job, known := a.feed.Job(uid)
	if !known {
		return job, nil, "the group is gone"
	}
	gang := ssn.Jobs[jobID(job)]
	if gang == nil || gang.PodGroup == nil {
		return job, nil, "the session does not have the group"
	}
	return job, gang, ""
}

// victimsFor are the tasks that the job evicts, without tasks that have ended or are ending anyway; a text where the
// session does not know one.
func (a *Action) victimsFor(ssn *framework.Session, job facts.JobRef, decision *pb.Decision) ([]victim, string) {
	var out []victim
	for _, eviction := range decision.GetEvictions() {
		if !a.feed.HasPod(eviction.GetUid()) {
			continue // gone already
		}
		theirs, gang, missing := a.gangOf(ssn, eviction.GetJob())
		if missing != "" {
			return nil, fmt.Sprintf("pod %s, to be evicted: %s", eviction.GetUid(), missing)
		}
		task := gang.Tasks[api.TaskID(eviction.GetUid())]
		if task == nil {
			return nil, fmt.Sprintf("pod %s of %s, to be evicted: the session does not have it", eviction.GetUid(), theirs.Called)
		}
		if !mayBeEvicted(task) {
			continue
		}
		cause, because := preempted, "it has a higher priority"
		if theirs.Queue != job.Queue {
			cause, because = reclaimed, "queue "+theirs.Queue+" holds more than its share"
		}
		if node := eviction.GetNode(); node != "" {
			out = append(out, victim{task, gang, moved, fmt.Sprintf("tephra: moved for job %s of queue %s: its new room is reserved on node %s",
				job.Called, job.Queue, node)})
			continue
		}
		out = append(out, victim{task, gang, cause, fmt.Sprintf("tephra: evicted for job %s of queue %s (%s: %s)",
			job.Called, job.Queue, cause, because)})
	}
	return out, ""
}

func mayBeEvicted(task *api.TaskInfo) bool {
	return task.Status == api.Running || task.Status == api.Bound || task.Status == api.Binding
}

// unwind gives back what is left of a gang that could not be completed, that leaves unhealthy devices, or that
// ran below its minimum for too long.
func (a *Action) unwind(ssn *framework.Session, decision *pb.Decision) {
	cause, because := unwound, "the gang could not be completed"
	switch decision.GetReason().GetObstacle() {
	case pb.Obstacle_OBSTACLE_UNHEALTHY:
		cause, because = repaired, "the gang leaves unhealthy devices"
	case pb.Obstacle_OBSTACLE_INCOMPLETE:
		because = "the gang was below its minimum for too long"
	}
	var out []victim
	for _, eviction := range decision.GetEvictions() {
		_, gang, missing := a.gangOf(ssn, eviction.GetJob())
		if missing != "" {
			continue
		}
		if task := gang.Tasks[api.TaskID(eviction.GetUid())]; task != nil && mayBeEvicted(task) {
			out = append(out, victim{task, gang, cause, "tephra: " + because})
		}
	}
	evict(ssn, out)
}

func evict(ssn *framework.Session, victims []victim) {
	statement := framework.NewStatement(ssn)
	for _, v := range victims {
		statement.Evict(v.task, v.reason)
	}
	statement.Commit()
	counted := map[api.JobID]bool{}
	for _, v := range victims {
		if v.task.Status != api.Releasing {
			continue // Volcano's cache would not
		}
		evictedTasks.WithLabelValues(string(v.cause)).Inc()
		if v.cause != unwound && v.cause != repaired && !counted[v.gang.UID] {
			counted[v.gang.UID] = true
			countEviction(v.gang.PodGroup)
		}
	}
}

// countEviction is written by the session when it closes, with the number of tasks that still run.
func countEviction(group *api.PodGroup) {
	group.Annotations = with(group.Annotations, annotations.EvictionsKey,
		facts.OnceMoreEvicted(group.Annotations[annotations.EvictionsKey]))
}
