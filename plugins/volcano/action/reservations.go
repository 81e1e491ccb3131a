package action

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	pb "tephra.sh/volcano/tephrav1"
)

// reservations keeps the annotation tephra.sh/reserved-room of PodGroups as the engine wants it. It is written
// before the first eviction, for an engine or a scheduler that begins in the middle of a grace period
// would otherwise give the room to other gangs, and evict for this gang once more.
type reservations struct {
	written map[string]bool // by job uid: by this process, and not taken away since
	spent   map[string]bool // by job uid: to be taken away
}

func newReservations() *reservations { return &reservations{map[string]bool{}, map[string]bool{}} }

// set writes that the room is reserved for the gang.
func (h *reservations) set(ctx context.Context, ssn *framework.Session, job facts.JobRef, gang *api.JobInfo,
	room []*pb.Placement) error {
	text, err := facts.ReservedRoomAnnotation(room)
	if err != nil {
		return err
	}
	if err := (groupWriter{ssn.VCClient()}).annotate(ctx, job, gang.PodGroup, annotations.ReservedRoomKey, text); err != nil {
		return err
	}
	h.written[job.UID] = true
	delete(h.spent, job.UID)
	return nil
}

// follow notes decisions by which the engine has given a hold up. That of a gang which starts stands
// until its pods are bound: a scheduler that restarts meanwhile still finds the room of pods that are not bound.
func (h *reservations) follow(feed *facts.Feed, decision *pb.Decision) {
	if decision.GetPart() != pb.Part_PART_MINIMUM {
		return
	}
	switch decision.GetVerdict() {
	case pb.Verdict_VERDICT_START, pb.Verdict_VERDICT_START_AFTER_EVICTION:
		delete(h.spent, decision.GetJob())
	default:
		if job, known := feed.Job(decision.GetJob()); known && (job.Reserves || h.written[job.UID]) {
			h.spent[job.UID] = true
		}
	}
}

// look notes groups that have what they need.
func (h *reservations) look(feed *facts.Feed) {
	for _, uid := range feed.SpentReservations() {
		h.spent[uid] = true
	}
}

// lift takes away what no longer stands. What fails is tried again in the next session.
func (h *reservations) lift(ctx context.Context, ssn *framework.Session, feed *facts.Feed) {
	h.look(feed)
	for _, uid := range slices.Sorted(maps.Keys(h.spent)) {
		job, known := feed.Job(uid)
		if known {
			var copied *api.PodGroup
			if gang := ssn.Jobs[jobID(job)]; gang != nil {
				copied = gang.PodGroup
			}
			err := groupWriter{ssn.VCClient()}.annotate(ctx, job, copied, annotations.ReservedRoomKey, "")
			if err != nil && !apierrors.IsNotFound(err) {
				klog.V(2).InfoS("Could not remove an annotation", "key", annotations.ReservedRoomKey, "group", job.Namespace+"/"+job.Name, "err", err)
				continue
			}
		}
		h.forget(uid)
	}
}

func (h *reservations) forget(uid string) {
	delete(h.spent, uid)
	delete(h.written, uid)
}

func jobID(job facts.JobRef) api.JobID { return api.JobID(job.Namespace + "/" + job.Name) }
