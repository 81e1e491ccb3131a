package facts

import (
	"cmp"
	"fmt"
	"strconv"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// queueAspect is the aspect of a pod group's problems under which a change of its queue stands.
const queueAspect = "queue"

// QueueChangeCondition is the condition of a PodGroup whose spec.queue does not count yet.
const QueueChangeCondition = "TephraQueueChange"

// placedIn is the queue in which the pod was placed, as long as the pod holds room; empty: it holds none, or
// does not say.
func (p *pod) placedIn() string {
	switch {
	case bound(p.obj):
		return p.given.Queue
	case p.inFlight():
		return p.handed.queue
	}
	return ""
}

// queueOf is the queue that the group's pods are charged to: the queue in which those of its pods that hold room
// were placed, and else the queue that its spec names. A gang is in one queue, so more pods of it are placed
// in the same queue; a change counts once none of them holds room.
func (f *Feed) queueOf(g *group) string {
	asked := cmp.Or(g.obj.Spec.Queue, schedulingv1beta1.DefaultQueue)
	var first *pod // by name, of the pods that hold room
	for _, p := range g.pods {
		if p.placedIn() != "" && (first == nil || cmp.Or(cmp.Compare(p.obj.Name, first.obj.Name), cmp.Compare(p.uid, first.uid)) < 0) {
			first = p
		}
	}
	if first == nil || first.placedIn() == asked {
		f.note(groupObject(g.obj), queueAspect, "", nil)
		return asked
	}
	queue := first.placedIn()
	wrong := (&fault{"spec.queue", strconv.Quote(asked), fmt.Sprintf("%q: pods of the group were placed in that queue and still hold room; "+
		"a new queue counts once they have ended", queue)}).of(groupObject(g.obj), "")
	wrong.Condition = QueueChangeCondition
	f.problems.set(groupObject(g.obj), queueAspect, &wrong)
	return queue
}
