package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/tephrav1"
)

// subGroups says which pods of a pod group are a sub-group, from its spec.subGroupPolicy, which Volcano's
// controller also writes for the partitionPolicy of a Job's task: as there, a pod belongs to the first policy
// whose selector it matches and whose label keys it has, with all others of the same values.
type subGroups struct {
	policies []subGroupPolicy
}

type subGroupPolicy struct {
	name     string
	selector klabels.Selector
	keys     []string
	size     int32 // pods without which a sub-group does not start
	least    int32 // sub-groups without which the gang does not
	locality *tephrav1.Locality
}

func subGroupsOf(obj *schedulingv1beta1.PodGroup) (subGroups, *fault) {
	var out subGroups
	if policies := len(obj.Spec.SubGroupPolicy); policies > mostSubGroupPolicies {
		return subGroups{}, &fault{"spec.subGroupPolicy", fmt.Sprintf("%d policies", policies), fmt.Sprintf("at most %d", mostSubGroupPolicies)}
	}
	for i := range obj.Spec.SubGroupPolicy {
		spec := &obj.Spec.SubGroupPolicy[i]
		at := fmt.Sprintf("spec.subGroupPolicy[%d]", i)
		policy := subGroupPolicy{name: cmp.Or(spec.Name, strconv.Itoa(i)), selector: klabels.Everything(), keys: spec.MatchLabelKeys, size: 1}
		if slices.ContainsFunc(out.policies, func(other subGroupPolicy) bool { return other.name == policy.name }) {
			return subGroups{}, &fault{at + ".name", strconv.Quote(spec.Name), "a name that no other sub-group policy has"}
		}
		if keys := len(spec.MatchLabelKeys); keys > mostMatchLabelKeys {
			return subGroups{}, &fault{at + ".matchLabelKeys", fmt.Sprintf("%d keys", keys), fmt.Sprintf("at most %d", mostMatchLabelKeys)}
		}
		if spec.LabelSelector != nil {
			if values := selectorValues(spec.LabelSelector); values > mostSelectorValues {
				return subGroups{}, &fault{at + ".labelSelector", fmt.Sprintf("%d labels and values", values), fmt.Sprintf("at most %d", mostSelectorValues)}
			}
			var err error
			if policy.selector, err = metav1.LabelSelectorAsSelector(spec.LabelSelector); err != nil {
				return subGroups{}, &fault{at + ".labelSelector", err.Error(), "a label selector"}
			}
		}
		if size := spec.SubGroupSize; size != nil {
			if *size < 1 {
				return subGroups{}, &fault{at + ".subGroupSize", strconv.Itoa(int(*size)), "at least 1"}
			}
			policy.size = *size
		}
		if least := spec.MinSubGroups; least != nil {
			if *least < 0 {
				return subGroups{}, &fault{at + ".minSubGroups", strconv.Itoa(int(*least)), "at least 0"}
			}
			policy.least = *least
		}
		var wrong *fault
		if policy.locality, wrong = localityOf(at+".networkTopology", spec.NetworkTopology); wrong != nil {
			return subGroups{}, wrong
		}
		out.policies = append(out.policies, policy)
	}
	return out, nil
}

// part is which pods share a role of the engine's: those of one task template in one sub-group.
type part struct {
	task   string
	policy int // -1: of no sub-group
	values string
}

func (s subGroups) partOf(task string, have klabels.Set) part {
	for i, policy := range s.policies {
		if !policy.selector.Matches(have) {
			continue
		}
		var values []string
		for _, key := range policy.keys {
			if have[key] != "" {
				values = append(values, have[key])
			}
		}
		if len(values) == len(policy.keys) {
			return part{task, i, strings.Join(values, "/")}
		}
	}
	return part{task: task, policy: -1}
}

func (s subGroups) ofPod(p *pod) part { return s.partOf(p.role(), p.obj.Labels) }

// group is the name of the part's sub-group; empty: it is of none.
func (s subGroups) group(of part) string {
	switch {
	case of.policy < 0:
		return ""
	case of.values == "":
		return s.policies[of.policy].name
	}
	return s.policies[of.policy].name + "/" + of.values
}

// names: a policy has that name.
func (s subGroups) names(name string) bool {
	return slices.ContainsFunc(s.policies, func(policy subGroupPolicy) bool { return policy.name == name })
}

// role is what the engine calls the part: worker/0 of a task that is partitioned by itself, stage/0/worker of one in
// a sub-group called otherwise.
func (s subGroups) role(of part) string {
	switch {
	case of.policy < 0:
		return of.task
	case s.policies[of.policy].name == of.task:
		return s.group(of)
	}
	return s.group(of) + "/" + of.task
}

// index is the pod's place among those of its part, as its task's index says it.
func (s subGroups) index(p *pod) (int32, bool) {
	index, given := p.index()
	if of := s.ofPod(p); given && of.policy >= 0 {
		index %= s.policies[of.policy].size
	}
	return index, given
}

// partsOf are the parts of a Job's task, in the order of its pods, and how many pods each will have.
// REQUIRES: the Job is within jobBounds.
func (s subGroups) partsOf(task *batchv1alpha1.TaskSpec) ([]part, map[part]int32) {
	var order []part
	pods := map[part]int32{}
	add := func(have klabels.Set, count int32) {
		of := s.partOf(taskName(task), have)
		if _, known := pods[of]; !known {
			order = append(order, of)
		}
		pods[of] += count
	}
	have := klabels.Merge(klabels.Set(task.Template.Labels), klabels.Set{batchv1alpha1.TaskSpecKey: taskName(task)})
	partitions := partitionsOf(task)
	if partitions == 0 || len(s.policies) == 0 {
		add(have, task.Replicas)
		return order, pods
	}
	left := task.Replicas
	for i := range partitions {
		have[batchv1alpha1.TaskPartitionID] = strconv.FormatInt(i, 10)
		size := min(task.PartitionPolicy.PartitionSize, left)
		add(have, size)
		left -= size
	}
	return order, pods
}

// fill gives the gang its sub-groups, and each role the name of its sub-group. The first of a policy, by their values, are
// the ones that it needs: as many as the policy says, its tasks' minimums take, or the gang's minimum. One of `begun` with fewer
// pods than its size runs all the same, and is as large as it is.
func (s subGroups) fill(gang *tephrav1.Gang, parts map[string]part, begun map[part]bool, least map[string]int32) {
	if len(s.policies) == 0 {
		return
	}
	type made struct {
		of    part
		roles []*tephrav1.Role
	}
	groups := map[string]*made{}
	var order []*made
	sure := int32(0) // tasks that may count to the minimum
	for _, role := range gang.Roles {
		of := parts[role.Name]
		if of.policy < 0 {
			sure += role.Replicas
			continue
		}
		role.Group = s.group(of)
		role.Min = 0 // the sub-group has a size
		if groups[role.Group] == nil {
			groups[role.Group] = &made{of: of}
			order = append(order, groups[role.Group])
		}
		groups[role.Group].roles = append(groups[role.Group].roles, role)
	}
	slices.SortStableFunc(order, func(a, b *made) int {
		return cmp.Or(cmp.Compare(a.of.policy, b.of.policy), compareValues(a.of.values, b.of.values))
	})
	needed := map[string]int32{} // of tasks: pods that the needed sub-groups still lack
	for task, count := range least {
		needed[task] = count
	}
	sized := make([]int32, len(s.policies)) // sub-groups that the gang needs
	for _, group := range order {
		policy := &s.policies[group.of.policy]
		var pods int32
		for _, role := range group.roles {
			pods += role.Replicas
		}
		size, runs := policy.size, false
		for _, role := range group.roles {
			runs = runs || begun[parts[role.Name]]
		}
		if runs {
			size = min(size, pods)
		}
		// The engine takes no group that could never start; places without a pod do not ask.
		if missing := size - pods; missing > 0 {
			group.roles[0].Replicas += missing
			pods += missing
		}
		lacks := sized[group.of.policy] < policy.least
		for _, role := range group.roles {
			lacks = lacks || needed[parts[role.Name].task] > 0
			needed[parts[role.Name].task] -= role.Replicas
		}
		if lacks {
			sized[group.of.policy]++
			sure += pods
		}
		gang.Groups = append(gang.Groups, &tephrav1.Group{Name: s.group(group.of), MinMember: size, Elastic: !lacks, Locality: policy.locality})
	}
	for i, group := range gang.Groups {
		if sure >= gang.MinMember {
			break
		}
		if group.Elastic {
			group.Elastic = false
			for _, role := range order[i].roles {
				sure += role.Replicas
			}
		}
	}
}

// compareValues orders numbers as such.
func compareValues(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}
