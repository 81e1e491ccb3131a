package action

import (
	"maps"
	"slices"
	"time"

	pb "tephra.sh/volcano/tephrav1"
)

// lagging are the decisions to make room that a session knew too little for: the facts are often a
// moment ahead of it, when a job has just come above all. The engine takes them for being carried out,
// so they are, by the next session that knows enough.
type lagging map[string]lag // by job uid

type lag struct {
	decision *pb.Decision
	since    time.Time
}

// lagPatience is how long a session's cache may be behind before it reports to the engine that its plan does
// not suit what is there.
const lagPatience = 5 * time.Second

// again are those of which the engine has not thought better meanwhile.
func (l lagging) again(decided []*pb.Decision) (out []*pb.Decision) {
	for _, decision := range decided {
		if decision.GetPart() == pb.Part_PART_MINIMUM {
			delete(l, decision.GetJob())
		}
	}
	for _, job := range slices.Sorted(maps.Keys(l)) {
		out = append(out, l[job].decision)
	}
	return out
}

// wait keeps the decision for the next session; false: it has been kept for long enough.
func (l lagging) wait(decision *pb.Decision) bool {
	known, waits := l[decision.GetJob()]
	if !waits {
		known = lag{decision, time.Now()}
		l[decision.GetJob()] = known
	}
	if time.Since(known.since) < lagPatience {
		return true
	}
	delete(l, decision.GetJob())
	return false
}
