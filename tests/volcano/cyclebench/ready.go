package main

import (
	"encoding/json"
	"fmt"
	"os"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/tests/volcano/sink"
)

// place is one placement of a plan that was made beforehand.
type place struct {
	Gang api.JobID  `json:"gang"`
	Task api.TaskID `json:"task"`
	Node string     `json:"node"`
}

// readyPlan is the floor: what it costs Volcano to check and carry out a plan that is there.
type readyPlan []place

func writePlan(path string, bindings []sink.Binding) error {
	var plan readyPlan
	for _, binding := range bindings {
		gang := api.JobID(binding.Pod.Namespace + "/" + binding.Pod.Annotations["scheduling.k8s.io/group-name"])
		plan = append(plan, place{gang, api.TaskID(binding.Pod.UID), binding.Node})
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func readPlan(path string) (readyPlan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	var plan readyPlan
	return plan, json.Unmarshal(text, &plan)
}

// carryOut uses one Statement a gang, as a gang starts whole or not at all.
func (p readyPlan) carryOut(ssn *framework.Session) {
	for first := 0; first < len(p); {
		last := first
		statement := framework.NewStatement(ssn)
		for ; last < len(p) && p[last].Gang == p[first].Gang; last++ {
			task, node := ssn.Jobs[p[last].Gang].Tasks[p[last].Task], ssn.Nodes[p[last].Node]
			err := ssn.PrePredicateFn(task)
			if err == nil {
				err = ssn.PredicateForAllocateAction(task, node)
			}
			if err == nil {
				err = statement.Allocate(task, node)
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "the ready plan does not fit: task %s on node %s: %v\n", task.Name, node.Name, err)
				statement.Discard()
				return // fewer bindings than expected end the measurement
			}
		}
		statement.Commit()
		first = last
	}
}
