package action

import (
	vcv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// judgeMasks asks Volcano's predicates, once per class of equal pods that need them, which nodes
// are out of the question: inter-pod affinity, volumes and the like, which only they can judge.
// A class of which no pod exists yet is judged when one does; until then no node is excluded, or its
// group would never be admitted.
func (a *Action) judgeMasks(ssn *framework.Session) {
	for _, class := range a.feed.MaskedClasses() {
		if class.Example.UID == "" {
			a.feed.SetMask(class.Name, nil)
			continue
		}
		group := api.JobID(class.Example.Namespace + "/" + class.Example.Annotations[vcv1beta1.KubeGroupNameAnnotationKey])
		gang := ssn.Jobs[group]
		if gang == nil {
			continue
		}
		task := gang.Tasks[api.TaskID(class.Example.UID)]
		if task == nil || task.Status != api.Pending {
			continue
		}
		none := ssn.PrePredicateFn(task) != nil
		var excluded []string
		for _, node := range ssn.NodeList {
			if none || ssn.PredicateForAllocateAction(task, node) != nil {
				excluded = append(excluded, node.Name)
			}
		}
		a.feed.SetMask(class.Name, excluded)
	}
}
