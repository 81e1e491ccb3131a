package action

import (
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/framework"

	pb "tephra.sh/volcano/tephrav1"
)

// admissions are the groups that a plan let in and that are not seen to be in yet, by job uid. What a
// session writes of a group may be refused, as out of date above all, and Volcano leaves it at that;
// but the engine takes the group for let in, and waits for its pods.
type admissions map[string]bool

// again lets in once more who is still outside, unless the engine has thought better of it.
func (l admissions) again(a *Action, ssn *framework.Session, decided []*pb.Decision) {
	for _, decision := range decided {
		if decision.GetPart() == pb.Part_PART_MINIMUM {
			delete(l, decision.GetJob())
		}
	}
	for job := range l {
		_, gang, missing := a.gangOf(ssn, job)
		if missing != "" || !stillOut(gang.PodGroup.Status.Phase) {
			delete(l, job)
			continue
		}
		admit(gang)
	}
}

// stillOut says whether a group of that phase is still to be let in.
func stillOut(phase scheduling.PodGroupPhase) bool {
	return phase == scheduling.PodGroupPending || phase == ""
}

// letIn admits the groups that wait and that nothing is held back of: those that ask for no resources in advance,
// and those of which pods exist, for it is too late then. Volcano takes one that lost pods for outside again,
// and its controller makes no pods for it: without the rest of them it could never start. Volcano's action
// enqueue lets in who asks for nothing too, and who adds nodes on demand looks at pods of such groups only.
func (a *Action) letIn(ssn *framework.Session) {
	for uid := range a.notices.byJob {
		job, gang, missing := a.gangOf(ssn, uid)
		if missing == "" && (job.HasPods || gang.PodGroup.Spec.MinResources == nil) {
			admit(gang)
		}
	}
}
