package action

import (
	"time"

	"k8s.io/klog/v2"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	pb "tephra.sh/volcano/tephrav1"
)

// bind is one placement on its way to the API server.
type bind struct {
	job, role, node string
	index           int32
	gang            api.JobID
	since           time.Time
}

// inFlight knows the binds that no session has shown settled. Commit only queues them: whether the
// API server took one is seen in a later session, where a failed one is Pending again.
type inFlight struct {
	binds map[string]bind // by pod uid
	fails map[string]int  // by pod uid: how many of its binds failed one after the other
}

func newInFlight() *inFlight { return &inFlight{map[string]bind{}, map[string]int{}} }

// A bind fails now and then because another scheduler was faster or the API server was away, and the next
// one goes through. Only so many in a row say something about the node.
const failsOfTheNode = 5

func (f *inFlight) add(pod string, b bind) {
	b.since = time.Now()
	f.binds[pod] = b
}

// settle tells the engine of binds that failed since the last session. The function is the status of a pod, and false
// where it is not there any more.
func (a *Action) settle(statusOf func(gang api.JobID, pod string) (api.TaskStatus, bool)) {
	for pod, b := range a.flight.binds {
		status, known := statusOf(b.gang, pod)
		switch {
		case known && status == api.Binding:
		case known && status == api.Pending:
			delete(a.flight.binds, pod)
			if a.flight.fails[pod]++; a.flight.fails[pod]%failsOfTheNode != 0 {
				b.node = ""
			}
			a.bindFailed(pod, b, "the pod is pending again")
		default:
			a.flight.settled(pod)
		}
	}
}

func statusIn(ssn *framework.Session) func(gang api.JobID, pod string) (api.TaskStatus, bool) {
	return func(gang api.JobID, pod string) (api.TaskStatus, bool) {
		if job := ssn.Jobs[gang]; job != nil && job.Tasks[api.TaskID(pod)] != nil {
			return job.Tasks[api.TaskID(pod)].Status, true
		}
		return 0, false
	}
}

func (f *inFlight) settled(pod string) {
	delete(f.binds, pod)
	delete(f.fails, pod)
}

// bindFailed tells the engine; a bind without a node says nothing about the node that it was to.
func (a *Action) bindFailed(pod string, b bind, why string) {
	klog.V(2).InfoS("A binding failed", "group", b.gang, "pod", pod, "node", b.node, "why", why)
	failedBinds.Inc()
	a.feed.BindFailed(pod)
	a.outcomes.add(&pb.Event{Fact: &pb.Event_BindFailed{BindFailed: &pb.BindFailed{
		Job: b.job, Role: b.role, Index: b.index, Node: b.node, Why: why}}})
}
