package action

import (
	"fmt"
	"maps"

	"k8s.io/klog/v2"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	pb "tephra.sh/volcano/tephrav1"
)

// outcome is what became of one decision's placements; a label of a metric.
type outcome string

const (
	handedOver outcome = "handed_over" // every placement is on its way to the API server
	admitted   outcome = "admitted"    // the group has no pods yet; its controller may make them
	stale      outcome = "stale"       // this session does not know what the plan speaks of
	refused    outcome = "refused"     // a check of Volcano's failed on the chosen node
	reserved   outcome = "reserved"    // its room is written down; the victims end first
	behind     outcome = "behind"      // the same, but this session knows too little; the next one tries again
)

// step is one placement of a decision, with what this session knows of its pod and node.
type step struct {
	placement *pb.Placement
	pod       facts.PodRef
	task      *api.TaskInfo
	node      *api.NodeInfo
}

// place carries a decision out whole, or tells the engine why it could not.
func (a *Action) place(ssn *framework.Session, decision *pb.Decision) (outcome, string) {
	job, gang, missing := a.gangOf(ssn, decision.GetJob())
	if missing != "" {
		return a.stale(decision, missing)
	}
	if !job.HasPods {
		admit(gang)
		a.admissions[decision.GetJob()] = false
		return admitted, ""
	}
	steps, missing := a.find(ssn, gang, decision)
	if missing != "" {
		return a.stale(decision, missing)
	}

	statement := framework.NewStatement(ssn)
	for _, s := range steps {
		if err := a.try(ssn, statement, job.Queue, s); err != nil {
			statement.Discard()
			a.outcomes.add(&pb.Event{Fact: &pb.Event_PlacementRefused{PlacementRefused: &pb.PlacementRefused{
				Job: decision.GetJob(), Role: s.placement.GetRole(), Node: s.placement.GetNode(), Why: err.Error(),
				Elastic: decision.GetPart() == pb.Part_PART_ELASTIC}}})
			return refused, err.Error()
		}
	}
	if admit(gang); gang.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
		klog.V(3).InfoS("Carrying out a decision", "group", job.Name, "placements", len(steps))
	}
	statement.Commit()
	for _, s := range steps {
		bind := bind{job: decision.GetJob(), role: s.placement.GetRole(), index: s.placement.GetIndex(),
			node: s.placement.GetNode(), gang: gang.UID}
		if s.task.Status != api.Binding {
			a.bindFailed(s.pod.UID, bind, "Volcano's cache would not take the placement")
			continue
		}
		a.feed.HandedOver(s.pod.UID, bind.node, s.placement.GetSlices())
		a.flight.add(s.pod.UID, bind)
		placedTasks.Inc()
	}
	return handedOver, ""
}

// admit lets the group's controller create its pods.
func admit(gang *api.JobInfo) {
	if stillOut(gang.PodGroup.Status.Phase) {
		gang.PodGroup.Status.Phase = scheduling.PodGroupInqueue
	}
}

func (a *Action) stale(decision *pb.Decision, why string) (outcome, string) {
	a.outcomes.add(&pb.Event{Fact: &pb.Event_PlanStale{PlanStale: &pb.PlanStale{Job: decision.GetJob(), Why: why,
		Elastic: decision.GetPart() == pb.Part_PART_ELASTIC}}})
	return stale, why
}

// find pairs each placement with the session's task and node; a text where one is missing.
func (a *Action) find(ssn *framework.Session, gang *api.JobInfo, decision *pb.Decision) ([]step, string) {
	steps := make([]step, 0, len(decision.GetPlacements()))
	for _, placement := range decision.GetPlacements() {
		pod, known := a.feed.Pod(decision.GetJob(), placement.GetRole(), placement.GetIndex())
		if !known {
			return nil, fmt.Sprintf("role %s has no pod %d anymore", placement.GetRole(), placement.GetIndex())
		}
		task := gang.Tasks[api.TaskID(pod.UID)]
		if task == nil {
			return nil, fmt.Sprintf("the session does not have pod %s", pod.Name)
		}
		if task.Status == api.Binding {
			a.feed.StillBinding(pod.UID)
		}
		if task.Status != api.Pending {
			return nil, fmt.Sprintf("pod %s is %s", pod.Name, task.Status)
		}
		node := ssn.Nodes[placement.GetNode()]
		if node == nil {
			return nil, fmt.Sprintf("the session does not have node %s", placement.GetNode())
		}
		steps = append(steps, step{placement, pod, task, node})
	}
	return steps, ""
}

// try puts one task on its node in the session, if Volcano's own checks agree.
func (a *Action) try(ssn *framework.Session, statement *framework.Statement, queue string, s step) error {
	slices, err := a.feed.SlicesAnnotation(s.pod.UID, s.placement.GetNode(), s.placement.GetSlices())
	if err != nil {
		return err
	}
	if err := ssn.PrePredicateFn(s.task); err != nil {
		return err
	}
	if err := ssn.PredicateForAllocateAction(s.task, s.node); err != nil {
		return err
	}
	signature, err := a.feed.Signature(annotations.Given{PodUID: s.pod.UID, Node: s.placement.GetNode(), Queue: queue, Slices: slices})
	if err != nil {
		return err
	}
	annotate(s.task, slices, queue, signature)
	ssn.PodLister.CachedPods[s.task.UID] = s.task.Pod // or Allocate makes one more copy, a deep one
	return statement.Allocate(s.task, s.node)
}

// annotate gives the task a pod of its own that carries the slices, the queue and the signature over both. The binder sends the
// annotations of the task's pod with the Binding; the original belongs to the informers, and
// Statement.Allocate would write into it.
func annotate(task *api.TaskInfo, slices, queue, signature string) {
	pod := *task.Pod
	pod.Annotations = maps.Clone(pod.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	for key, value := range map[string]string{annotations.SlicesKey: slices, annotations.QueueKey: queue, annotations.SignatureKey: signature} {
		delete(pod.Annotations, key)
		if value != "" {
			pod.Annotations[key] = value
		}
	}
	task.Pod = &pod
}
