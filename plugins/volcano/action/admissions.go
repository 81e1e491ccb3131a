package action

import (
	"maps"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/framework"

	pb "tephra.sh/volcano/tephrav1"
)

// admissions are the groups that a plan admitted and whose pods do not exist yet, by job uid, and whether
// the last session found them in. The engine waits for those pods and says nothing of the groups until then;
// but what a session writes of a group may be refused as out of date, and one that saw the group as it was
// before it lost its pods takes it for outside again when it closes.
type admissions map[string]bool

// again admits once more the groups that still wait, unless the engine has decided otherwise.
func (l admissions) again(a *Action, ssn *framework.Session, decided []*pb.Decision) {
	for _, decision := range decided {
		if decision.GetPart() == pb.Part_PART_MINIMUM {
			delete(l, decision.GetJob())
		}
	}
	for uid := range l {
		if job, known := a.feed.Job(uid); !known || job.HasPods {
			delete(l, uid)
			continue
		}
		_, gang, missing := a.gangOf(ssn, uid)
		if missing != "" && l[uid] {
			continue // it was seen to be in, and a session that does not show it says nothing of it
		}
		l[uid] = missing == "" && !stillOut(gang.PodGroup.Status.Phase)
		if missing == "" {
			admit(gang)
		}
	}
}

// unsettled: of some it is still to be seen that they are in.
func (l admissions) unsettled() bool {
	return slices.Contains(slices.Collect(maps.Values(l)), false)
}

// stillOut says whether a group of that phase is not admitted yet.
func stillOut(phase scheduling.PodGroupPhase) bool {
	return phase == scheduling.PodGroupPending || phase == ""
}

// admitUngated admits groups that pass no gate: groups that wait and ask for no resources in advance,
// and those of which pods exist, for it is too late then. Volcano takes one that lost pods for outside
// again, and its controller makes no pods for it: it could never start, or be whole again. Volcano's action
// enqueue admits groups that ask for nothing too, and an autoscaler looks only at pods of admitted groups.
func (a *Action) admitUngated(ssn *framework.Session) {
	for _, gang := range ssn.Jobs {
		if gang.PodGroup == nil || !stillOut(gang.PodGroup.Status.Phase) {
			continue
		}
		uid := string(gang.PodGroup.UID)
		job, known := a.feed.Job(uid)
		if known && job.HasPods || gang.PodGroup.Spec.MinResources == nil && a.notices.byJob[uid] != nil {
			admit(gang)
		}
	}
}
