package facts

import (
	"math"
	"strconv"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"tephra.sh/volcano/tephrav1"
)

// topologyOf is how near to each other all tasks of the group are to be. Many frameworks make PodGroups without a topology, so
// without the field, the annotations count that Volcano reads from pods.
func topologyOf(group *schedulingv1beta1.PodGroup) (*tephrav1.Locality, *fault) {
	mode, moded := group.Annotations[topologyv1alpha1.NetworkTopologyModeAnnotationKey]
	tier, tiered := group.Annotations[topologyv1alpha1.NetworkTopologyHighestTierAnnotationKey]
	if group.Spec.NetworkTopology != nil || !moded && !tiered {
		return localityOf("spec.networkTopology", group.Spec.NetworkTopology)
	}
	asked := &schedulingv1beta1.NetworkTopologySpec{Mode: schedulingv1beta1.NetworkTopologyMode(mode)}
	if tiered {
		highest, err := strconv.ParseInt(tier, 10, 32)
		if err != nil || highest < 0 {
			return nil, &fault{annotationAt(topologyv1alpha1.NetworkTopologyHighestTierAnnotationKey), strconv.Quote(tier), "0 to 2147483647"}
		}
		value := int(highest)
		asked.HighestTierAllowed = &value
	}
	locality, wrong := localityOf("", asked)
	if wrong != nil { // only the mode can be wrong now
		wrong.field = annotationAt(topologyv1alpha1.NetworkTopologyModeAnnotationKey)
	}
	return locality, wrong
}

func annotationAt(key string) string { return "metadata.annotations[" + key + "]" }

// localityOf is how near to each other tasks are to be whose group, or sub-group, asks for that at the path `at`; nil: it
// says nothing of that. As in Volcano a hard topology without a tier binds nothing.
func localityOf(at string, asked *schedulingv1beta1.NetworkTopologySpec) (*tephrav1.Locality, *fault) {
	if asked == nil {
		return nil, nil
	}
	switch asked.Mode {
	case schedulingv1beta1.SoftNetworkTopologyMode:
		return &tephrav1.Locality{Mode: tephrav1.LocalityMode_LOCALITY_MODE_PREFERRED}, nil
	case schedulingv1beta1.HardNetworkTopologyMode, "":
	default:
		return nil, &fault{at + ".mode", strconv.Quote(string(asked.Mode)), `"hard" or "soft"`}
	}
	required := &tephrav1.Locality{Mode: tephrav1.LocalityMode_LOCALITY_MODE_REQUIRED, HighestTierName: asked.HighestTierName}
	switch tier := asked.HighestTierAllowed; {
	case tier == nil && asked.HighestTierName == "":
		return nil, nil
	case tier == nil:
	case asked.HighestTierName != "":
		return nil, &fault{at + ".highestTierAllowed", strconv.Itoa(*tier), "none beside highestTierName"}
	case *tier < 0 || *tier > math.MaxInt32:
		return nil, &fault{at + ".highestTierAllowed", strconv.Itoa(*tier), "0 to 2147483647"}
	default:
		required.HighestTier = int32(*tier)
	}
	return required, nil
}
