package action

import (
	"fmt"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/facts"
	pb "tephra.sh/volcano/tephrav1"
)

// ConditionType is the condition that a PodGroup has from us: True once its gang has been placed,
// False while it waits, with the engine's reason.
const ConditionType scheduling.PodGroupConditionType = "TephraScheduled"

// waitsForEvictions is the condition's reason when room is reserved and its victims have not ended yet.
const waitsForEvictions = "WaitsForEvictions"

// membersMissing is the obstacle of a gang of which some pods do not exist. Controllers make one pod after the other, so
// PodGroups get this reason only if it is true for lookAgain.
const membersMissing = "Members"

// A reason whose binding constraint stays the same is written again at most this often: its numbers
// move with every cycle of a busy cluster.
const rewriteAfter = time.Minute

// What was written this long ago and is still not on the PodGroup was refused at the end of its session, as out of date
// for example, and the session does not report it.
const lostAfter = 10 * time.Second

// notice is what was last said of one gang.
type notice struct {
	obstacle, binding, text string
	placed                  bool
	since                   time.Time
	stands                  time.Time // since when the job waits for this obstacle, by the clock of this process
	written                 *notice   // what its PodGroup and pods say; nil: nothing yet
	writtenAt               time.Time
	arrived                 bool // it was seen on the PodGroup
}

func (n *notice) reason() string {
	if n.placed {
		return "Placed"
	}
	return n.obstacle
}

// due says whether what is written should be replaced.
func (n *notice) due(now time.Time) bool {
	if !n.placed && n.obstacle == membersMissing && now.Sub(n.stands) < lookAgain {
		return false // the controller may be about to make the other pods
	}
	w := n.written
	if w == nil || w.placed != n.placed || w.obstacle != n.obstacle || w.binding != n.binding {
		return true
	}
	return w.text != n.text && now.Sub(n.writtenAt) >= rewriteAfter
}

// on says whether what is written is on the group.
func (n *notice) on(group *api.PodGroup) bool {
	return slices.ContainsFunc(group.Status.Conditions, func(c scheduling.PodGroupCondition) bool {
		return c.Type == ConditionType && c.Reason == n.written.reason() && c.Message == n.written.text
	})
}

// lost says whether what was written did not arrive.
func (n *notice) lost(group *api.PodGroup, now time.Time) bool {
	return n.written != nil && now.Sub(n.writtenAt) >= lostAfter && !n.on(group)
}

// notices remembers what was said of each gang that waits and writes it where its owner looks.
type notices struct {
	byJob    map[string]*notice // by uid
	stirred  map[string]bool    // of which something was noted since the last session
	looked   time.Time          // at all of them
	recorder record.EventRecorder
}

// All notices are looked at again so often: a text may be due, or one that was written has not arrived.
const lookAgain = time.Second

// pending are the gangs of which something is to be written or looked for, so that a session has to show them.
func (n *notices) pending(feed *facts.Feed, now time.Time) (out []string) {
	defer clear(n.stirred)
	if now.Sub(n.looked) < lookAgain {
		for uid := range n.stirred {
			if notice := n.byJob[uid]; notice != nil && notice.due(now) {
				out = append(out, uid)
			}
		}
		return out
	}
	n.looked = now
	for uid, notice := range n.byJob {
		if _, known := feed.Job(uid); !known {
			delete(n.byJob, uid)
		} else if notice.due(now) || !notice.arrived && now.Sub(notice.writtenAt) >= lostAfter {
			out = append(out, uid)
		}
	}
	return out
}

func newNotices(recorder record.EventRecorder) *notices {
	return &notices{byJob: map[string]*notice{}, stirred: map[string]bool{}, recorder: recorder}
}

func (n *notices) of(job string) *notice {
	n.stirred[job] = true
	known := n.byJob[job]
	if known == nil {
		known = &notice{}
		n.byJob[job] = known
	}
	return known
}

// take notes what a plan says. A gang of which it says nothing is as it was.
func (n *notices) take(feed *facts.Feed, reply *pb.CycleReply) {
	waits := map[string]*pb.Note{}
	for _, note := range reply.GetNotes() {
		if note.GetPart() == pb.Part_PART_MINIMUM {
			waits[note.GetJob()] = note
		}
	}
	for _, decision := range reply.GetPlan().GetDecisions() {
		if decision.GetPart() != pb.Part_PART_MINIMUM {
			continue
		}
		if note := waits[decision.GetJob()]; note != nil {
			known := n.of(decision.GetJob())
			if known.placed || known.obstacle != note.GetObstacle() {
				known.stands = time.Now()
			}
			known.placed = false
			known.obstacle, known.binding, known.text = note.GetObstacle(), note.GetBinding(), note.GetText()
			known.since = time.UnixMilli(note.GetSinceMs())
			switch decision.GetVerdict() {
			case pb.Verdict_VERDICT_INFEASIBLE:
				known.obstacle = "Infeasible"
				known.text = "would not start even in an empty cluster: " + known.text
			case pb.Verdict_VERDICT_START_AFTER_EVICTION:
				known.obstacle = waitsForEvictions
				known.text = "waits for evictions: " + known.text
			}
			continue
		}
		if decision.GetVerdict() != pb.Verdict_VERDICT_START {
			continue
		}
		if job, ok := feed.Job(decision.GetJob()); ok && !job.HasPods {
			continue // admitted: said once it is placed
		}
		known := n.of(decision.GetJob())
		known.placed, known.obstacle, known.binding = true, "", ""
		known.text = placedText(decision)
		known.since = time.Now()
	}
}

func placedText(decision *pb.Decision) string {
	nodes := map[string]bool{}
	for _, placement := range decision.GetPlacements() {
		nodes[placement.GetNode()] = true
	}
	return fmt.Sprintf("%d tasks are placed on %d nodes", len(decision.GetPlacements()), len(nodes))
}

// write puts what is due of these gangs on the PodGroups of the session, and what is written on the pods that
// wait, for Volcano to record when the session closes. The session shows them, if Volcano's cache has them.
func (n *notices) write(ssn *framework.Session, feed *facts.Feed, jobs iter.Seq[string]) {
	now := time.Now()
	clear(n.stirred)
	for uid := range jobs {
		notice := n.byJob[uid]
		if notice == nil {
			continue
		}
		job, known := feed.Job(uid)
		if !known {
			delete(n.byJob, uid)
			continue
		}
		gang := ssn.Jobs[jobID(job)]
		if gang == nil || gang.PodGroup == nil {
			// Volcano leaves a group without a queue out of its sessions.
			if notice.due(now) {
				n.writeOutside(ssn, uid, job, notice, now)
			}
			continue
		}
		notice.arrived = notice.written != nil && notice.on(gang.PodGroup)
		if notice.due(now) || notice.lost(gang.PodGroup, now) {
			notice.write(ssn, gang, now)
			notice.arrived = false
		}
		switch w := notice.written; {
		case w == nil: // the next session tries again
		case w.placed:
			if notice.arrived {
				delete(n.byJob, uid) // there is no more to say, unless it comes to wait again
			}
		default:
			tellPods(gang, w.text)
		}
	}
}

// writeOutside does in the background what the end of a session would do.
func (n *notices) writeOutside(ssn *framework.Session, uid string, job facts.JobRef, about *notice, now time.Time) {
	group := reference(apiVersions["PodGroup"], facts.Object{Kind: "PodGroup", Namespace: job.Namespace, Name: job.Name, UID: uid})
	n.recorder.Event(group, v1.EventTypeWarning, about.reason(), about.text)
	condition := v1beta1.PodGroupCondition{Type: v1beta1.PodGroupConditionType(ConditionType), Status: v1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(about.since), Reason: about.reason(), Message: about.text}
	go outside{ssn.VCClient()}.write(job.Namespace, job.Name, condition)
	about.remember(now)
}

func (n *notice) remember(now time.Time) {
	written := *n
	written.written = nil
	n.written, n.writtenAt = &written, now
}

func (n *notice) write(ssn *framework.Session, gang *api.JobInfo, now time.Time) {
	status, eventType := v1.ConditionFalse, v1.EventTypeWarning
	if n.placed {
		status, eventType = v1.ConditionTrue, v1.EventTypeNormal
	}
	since := metav1.NewTime(n.since)
	for _, old := range gang.PodGroup.Status.Conditions {
		// The engine forgets with a restart since when a gang waits; its condition does not.
		if old.Type == ConditionType && old.Reason == n.reason() && old.LastTransitionTime.Before(&since) {
			since = old.LastTransitionTime
		}
	}
	condition := scheduling.PodGroupCondition{Type: ConditionType, Status: status, TransitionID: string(ssn.UID),
		LastTransitionTime: since, Reason: n.reason(), Message: n.text}
	if ssn.UpdatePodGroupCondition(gang, &condition) != nil {
		return
	}
	ssn.RecordPodGroupEvent(gang.PodGroup, eventType, n.reason(), n.text)
	n.remember(now)
}

// tellPods makes Volcano's pod conditions and events say why the gang waits.
func tellPods(gang *api.JobInfo, text string) {
	pending := gang.TaskStatusIndex[api.Pending]
	if len(pending) == 0 {
		return
	}
	why := api.NewFitErrors()
	why.SetError(text)
	// Otherwise Volcano quotes the reason of any one task, by name, and the condition of the group changes, and is written,
	// in every session.
	gang.JobFitErrors = text
	for uid := range pending {
		gang.NodesFitErrors[uid] = why
	}
}
