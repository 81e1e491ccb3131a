package action

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/facts"
)

// masksWithin is how long a session judges classes of pods. Users choose how many classes there are, and each costs a
// look at all nodes. Until a class is judged, its pods wait; afterwards its last mask holds.
const masksWithin = 500 * time.Millisecond

// maskTurns knows which classes are judged next.
type maskTurns struct {
	session uint64
	judged  map[string]uint64 // by the name of the class: in which session last
	left    bool              // the last session did not judge all
}

// judgeMasks asks Volcano's predicates, once per class of equal pods that need them, which nodes
// are out of the question: inter-pod affinity, where volumes are and the like, which only they can judge.
// A class of which no pod exists yet is judged when one does; until then no node is excluded, or its
// group would never be admitted.
func (a *Action) judgeMasks(ssn *framework.Session) {
	a.masks.judge(a.feed.MaskedClasses(), time.Now, func(class facts.MaskedClass) {
		if class.Example.UID == "" {
			a.feed.SetMask(class.Name, nil)
			return
		}
		group := api.JobID(class.Example.Namespace + "/" + class.Example.Annotations[vcv1beta1.KubeGroupNameAnnotationKey])
		gang := ssn.Jobs[group]
		if gang == nil {
			return
		}
		task := gang.Tasks[api.TaskID(class.Example.UID)]
		if task == nil || task.Status != api.Pending {
			return
		}
		none := ssn.PrePredicateFn(task) != nil
		var excluded []string
		for _, node := range ssn.NodeList {
			if none || excludes(ssn.PredicateForAllocateAction(task, node)) {
				excluded = append(excluded, node.Name)
			}
		}
		a.feed.SetMask(class.Name, excluded)
	})
}

// counted are faults of a node that the engine counts itself, so that it can place several pods of a gang there and evict
// pods that stand in the way. The predicates look on after such a fault, so the node has no other fault.
var counted = []string{nodevolumelimits.ErrReasonMaxVolumeCountExceeded, api.NodePodNumberExceeded}

// excludes: the node is out of the question for a reason that the engine does not know.
func excludes(fault error) bool {
	if fault == nil {
		return false
	}
	var fit *api.FitError
	if !errors.As(fault, &fit) || len(fit.Status) == 0 {
		return true
	}
	return slices.ContainsFunc(fit.Status, func(status *api.Status) bool {
		return status.Code != api.Unschedulable || !slices.Contains(counted, status.Reason)
	})
}

// judge judges classes in turn until the time is over, and at least one.
func (m *maskTurns) judge(classes []facts.MaskedClass, now func() time.Time, one func(facts.MaskedClass)) {
	m.session++
	end := now().Add(masksWithin)
	m.left = false
	known := map[string]uint64{}
	for i, class := range m.order(classes) {
		if m.left = i > 0 && !now().Before(end); m.left {
			break
		}
		one(class)
		known[class.Name] = m.session
	}
	for _, class := range classes {
		if last, judged := m.judged[class.Name]; judged && known[class.Name] == 0 {
			known[class.Name] = last
		}
	}
	m.judged = known
}

// order takes a class of each namespace in turn, in each the one that was judged longest ago. The namespace whose first
// class has waited longest begins.
func (m *maskTurns) order(classes []facts.MaskedClass) []facts.MaskedClass {
	waited := func(a, b facts.MaskedClass) int {
		return cmp.Or(cmp.Compare(m.judged[a.Name], m.judged[b.Name]), strings.Compare(a.Name, b.Name))
	}
	byNamespace := map[string][]facts.MaskedClass{}
	for _, class := range classes {
		byNamespace[class.Example.Namespace] = append(byNamespace[class.Example.Namespace], class)
	}
	for _, of := range byNamespace {
		slices.SortFunc(of, waited)
	}
	queues := slices.SortedFunc(maps.Values(byNamespace), func(a, b []facts.MaskedClass) int { return waited(a[0], b[0]) })
	out := make([]facts.MaskedClass, 0, len(classes))
	for round := 0; len(out) < len(classes); round++ {
		for _, queue := range queues {
			if round < len(queue) {
				out = append(out, queue[round])
			}
		}
	}
	return out
}
