package facts

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/tephrav1"
)

// constraints are the pod's demands of the node itself; nil: none.
func (t *translator) constraints(pod *corev1.Pod) *tephrav1.NodeConstraints {
	out := &tephrav1.NodeConstraints{Selector: labels(pod.Spec.NodeSelector)}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			for _, term := range required.NodeSelectorTerms {
				out.Affinity = append(out.Affinity, &tephrav1.NodeSelectorTerm{
					Expressions: requirements(term.MatchExpressions),
					Fields:      requirements(term.MatchFields),
				})
			}
		}
	}
	for _, toleration := range pod.Spec.Tolerations {
		if translated := tolerates(toleration); translated != nil {
			out.Tolerations = append(out.Tolerations, translated)
		}
	}
	out.DeviceModels = t.deviceModels(pod)
	for _, key := range useDevices {
		out.DeviceUuids = append(out.DeviceUuids, wishes(pod.Annotations[key])...)
	}
	for _, key := range avoidDevices {
		out.ExcludedUuids = append(out.ExcludedUuids, wishes(pod.Annotations[key])...)
	}
	if len(out.Selector)+len(out.Affinity)+len(out.Tolerations)+len(out.DeviceModels)+
		len(out.DeviceUuids)+len(out.ExcludedUuids) == 0 {
		return nil
	}
	return out
}

func requirements(in []corev1.NodeSelectorRequirement) []*tephrav1.LabelRequirement {
	var out []*tephrav1.LabelRequirement
	for _, requirement := range in {
		out = append(out, &tephrav1.LabelRequirement{Key: requirement.Key,
			Op: labelOperators[requirement.Operator], Values: requirement.Values})
	}
	return out
}

var labelOperators = map[corev1.NodeSelectorOperator]tephrav1.LabelOperator{
	corev1.NodeSelectorOpIn:           tephrav1.LabelOperator_LABEL_OPERATOR_IN,
	corev1.NodeSelectorOpNotIn:        tephrav1.LabelOperator_LABEL_OPERATOR_NOT_IN,
	corev1.NodeSelectorOpExists:       tephrav1.LabelOperator_LABEL_OPERATOR_EXISTS,
	corev1.NodeSelectorOpDoesNotExist: tephrav1.LabelOperator_LABEL_OPERATOR_DOES_NOT_EXIST,
	corev1.NodeSelectorOpGt:           tephrav1.LabelOperator_LABEL_OPERATOR_GT,
	corev1.NodeSelectorOpLt:           tephrav1.LabelOperator_LABEL_OPERATOR_LT,
}

// tolerates is nil for an operator that the engine does not know: what it would have tolerated stays
// out.
func tolerates(in corev1.Toleration) *tephrav1.Toleration {
	out := &tephrav1.Toleration{Key: in.Key, Value: in.Value,
		Op: tephrav1.TolerationOperator_TOLERATION_OPERATOR_EQUAL, AnyEffect: in.Effect == ""}
	switch in.Operator {
	case corev1.TolerationOpExists:
		out.Op = tephrav1.TolerationOperator_TOLERATION_OPERATOR_EXISTS
	case corev1.TolerationOpEqual, "":
	default:
		return nil
	}
	if !out.AnyEffect {
		out.Effect = taintEffect(in.Effect)
	}
	return out
}

// deviceModels spells out HAMi's and Volcano's wishes, which match any part of a model's name in any
// case, as the models of the cluster. A wish that no model meets is kept as it was written, so that
// nothing meets it.
func (t *translator) deviceModels(pod *corev1.Pod) []string {
	use, avoid := wishes(pod.Annotations[useModels]), wishes(pod.Annotations[avoidModels])
	if len(use)+len(avoid) == 0 {
		// All that its nodes have: this forbids nothing, and says of which model it asks for GPUs.
		return sortedKeys(t.products[pod.Spec.NodeSelector[productLabel]])
	}
	meets := func(model string, wishes []string) bool {
		return slices.ContainsFunc(wishes, func(wish string) bool {
			return strings.Contains(strings.ToUpper(model), strings.ToUpper(wish))
		})
	}
	var out []string
	for _, model := range sortedKeys(t.memories) {
		// As in Volcano, what to avoid is read only where nothing is wished for.
		if meets(model, use) || len(use) == 0 && !meets(model, avoid) {
			out = append(out, model)
		}
	}
	if len(out) == 0 {
		return []string{cmp.Or(strings.Join(use, ","), "not "+strings.Join(avoid, ","))}
	}
	return out
}

// wishes are the parts between commas that say something.
func wishes(text string) []string {
	var out []string
	for _, wish := range strings.Split(text, ",") {
		if wish = strings.TrimSpace(wish); wish != "" {
			out = append(out, wish)
		}
	}
	return out
}

func compareLimits(a, b *tephrav1.DomainLimit) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.TopologyKey, b.TopologyKey))
}
