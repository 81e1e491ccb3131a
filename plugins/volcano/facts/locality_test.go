package facts

import (
	"strings"
	"testing"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/tephrav1"
)

func TestHowNearAGroupsTasksAreToBeIsReported(t *testing.T) {
	const none, preferred, required = tephrav1.LocalityMode_LOCALITY_MODE_UNSPECIFIED,
		tephrav1.LocalityMode_LOCALITY_MODE_PREFERRED, tephrav1.LocalityMode_LOCALITY_MODE_REQUIRED
	two, below := 2, -1
	for _, test := range []struct {
		says    *schedulingv1beta1.NetworkTopologySpec
		mode    tephrav1.LocalityMode
		tier    int32
		name    string
		problem string
	}{
		{nil, none, 0, "", ""},
		{&schedulingv1beta1.NetworkTopologySpec{Mode: "soft", HighestTierAllowed: &two}, preferred, 0, "", ""},
		{&schedulingv1beta1.NetworkTopologySpec{Mode: "hard", HighestTierAllowed: &two}, required, 2, "", ""},
		{&schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &two}, required, 2, "", ""},
		{&schedulingv1beta1.NetworkTopologySpec{Mode: "hard", HighestTierName: "rack"}, required, 0, "rack", ""},
		{&schedulingv1beta1.NetworkTopologySpec{Mode: "hard"}, none, 0, "", ""},
		{&schedulingv1beta1.NetworkTopologySpec{Mode: "near"}, none, 0, "", `spec.networkTopology.mode: "near", expected "hard" or "soft"`},
		{&schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &below}, none, 0, "", `spec.networkTopology.highestTierAllowed: -1`},
		{&schedulingv1beta1.NetworkTopologySpec{HighestTierAllowed: &two, HighestTierName: "rack"}, none, 0, "", "none beside highestTierName"},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) { g.Spec.NetworkTopology = test.says }))
		feed.setPod(somePod("p", "g"))
		got := wholeModel(t, feed).jobs["group-g"].GetLocality()
		if got.GetMode() != test.mode || got.GetHighestTier() != test.tier || got.GetHighestTierName() != test.name {
			t.Errorf("%+v: reported %v", test.says, got)
		}
		problems := feed.Problems()
		if (test.problem == "") != (len(problems) == 0) ||
			len(problems) > 0 && !strings.Contains(problems[0].Error(), test.problem) {
			t.Errorf("%+v: problems %v, expected %q", test.says, problems, test.problem)
		}
	}
}

// Many frameworks make PodGroups without a topology; the annotations that Volcano reads from pods then count.
func TestTheTopologyAnnotationsCountWithoutTheField(t *testing.T) {
	const mode, tier = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"
	const none, preferred, required = tephrav1.LocalityMode_LOCALITY_MODE_UNSPECIFIED,
		tephrav1.LocalityMode_LOCALITY_MODE_PREFERRED, tephrav1.LocalityMode_LOCALITY_MODE_REQUIRED
	one := 1
	for _, test := range []struct {
		annotations map[string]string
		field       *schedulingv1beta1.NetworkTopologySpec
		mode        tephrav1.LocalityMode
		tier        int32
		problem     string
	}{
		{map[string]string{mode: "hard", tier: "2"}, nil, required, 2, ""},
		{map[string]string{tier: "2"}, nil, required, 2, ""},
		{map[string]string{mode: "soft"}, nil, preferred, 0, ""},
		{map[string]string{mode: "hard"}, nil, none, 0, ""},
		{map[string]string{mode: "soft"}, &schedulingv1beta1.NetworkTopologySpec{Mode: "hard", HighestTierAllowed: &one}, required, 1, ""},
		{map[string]string{mode: "near", tier: "2"}, nil, none, 0, `metadata.annotations[volcano.sh/network-topology-mode]: "near", expected "hard" or "soft"`},
		{map[string]string{mode: "hard", tier: "rack"}, nil, none, 0, `metadata.annotations[volcano.sh/network-topology-highest-tier]: "rack", expected 0 to 2147483647`},
		{map[string]string{tier: "-1"}, nil, none, 0, `metadata.annotations[volcano.sh/network-topology-highest-tier]: "-1", expected 0 to 2147483647`},
	} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setGroup(someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) {
			g.Annotations, g.Spec.NetworkTopology = test.annotations, test.field
		}))
		feed.setPod(somePod("p", "g"))
		got := wholeModel(t, feed).jobs["group-g"].GetLocality()
		if got.GetMode() != test.mode || got.GetHighestTier() != test.tier {
			t.Errorf("%v: reported %v", test.annotations, got)
		}
		problems := feed.Problems()
		if (test.problem == "") != (len(problems) == 0) || len(problems) > 0 && !strings.Contains(problems[0].Error(), test.problem) {
			t.Errorf("%v: problems %v, expected %q", test.annotations, problems, test.problem)
		}
	}
}
