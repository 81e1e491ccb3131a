package facts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"tephra.sh/volcano/tephrav1"
)

func TestHyperNodesAreReportedWithTheNodesThatTheirSelectorsMean(t *testing.T) {
	feed := idleFeed(t, Options{})
	inZone := func(zone string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Labels["zone"] = zone }
	}
	feed.setNode(someNode("gpu-1", inZone("a")))
	feed.setNode(someNode("gpu-2", inZone("a")))
	feed.setNode(someNode("cpu-1", inZone("b")))
	by := func(selector topologyv1alpha1.MemberSelector) *topologyv1alpha1.HyperNode {
		return someHyperNode("rack", 1, nodeMember(selector))
	}
	pattern := by(topologyv1alpha1.MemberSelector{RegexMatch: &topologyv1alpha1.RegexMatch{Pattern: "^gpu-"}})
	zone := by(topologyv1alpha1.MemberSelector{LabelMatch: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}}})
	for _, test := range []struct {
		name   string
		change func()
		want   string
	}{
		{"named, there or not", func() {
			feed.setDomain(by(topologyv1alpha1.MemberSelector{ExactMatch: &topologyv1alpha1.ExactMatch{Name: "gpu-7"}}))
		}, `nodes: "gpu-7"`},
		{"by pattern", func() { feed.setDomain(pattern) }, `nodes: ["gpu-1", "gpu-2"]`},
		{"a node comes", func() { feed.setNode(someNode("gpu-3")) }, `nodes: ["gpu-1", "gpu-2", "gpu-3"]`},
		{"a node goes", func() { feed.dropNode(someNode("gpu-1")) }, `nodes: ["gpu-2", "gpu-3"]`},
		{"by label", func() { feed.setDomain(zone) }, `nodes: "gpu-2"`},
		{"a label changes", func() { feed.setNode(someNode("cpu-1", inZone("a"))) }, `nodes: ["cpu-1", "gpu-2"]`},
		{"no label asked for means no node", func() {
			feed.setDomain(by(topologyv1alpha1.MemberSelector{LabelMatch: &metav1.LabelSelector{}}))
		}, ``},
		{"HyperNodes", func() { feed.setDomain(someHyperNode("rack", 1, hyperMember("b"), hyperMember("a"))) },
			`domains: ["a", "b"]`},
	} {
		test.change()
		got := wholeModel(t, feed).domains["rack"]
		if got == nil {
			t.Fatalf("%s: not reported; problems %v", test.name, feed.Problems())
		}
		expect(t, test.name, got, &tephrav1.Domain{}, `name: "rack" tier: 1 tier_name: "rack" `+test.want)
	}
}

func TestHyperNodesThatCannotBeReadAreNamedAndLeftOut(t *testing.T) {
	byLabel := nodeMember(topologyv1alpha1.MemberSelector{LabelMatch: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Near"}}}})
	byPattern := nodeMember(topologyv1alpha1.MemberSelector{RegexMatch: &topologyv1alpha1.RegexMatch{Pattern: "a(b"}})
	hyper := hyperMember("a")
	hyper.Selector = topologyv1alpha1.MemberSelector{RegexMatch: &topologyv1alpha1.RegexMatch{Pattern: "a"}}
	for _, test := range []struct {
		tier   int
		member topologyv1alpha1.MemberSpec
		want   string
	}{
		{-1, hyperMember("a"), `spec.tier: -1, expected 0 to 2147483647`},
		{1, topologyv1alpha1.MemberSpec{Type: "Rack"}, `spec.members[0].type: Rack, expected Node or HyperNode`},
		{1, nodeMember(topologyv1alpha1.MemberSelector{}), `spec.members[0].selector: none, expected exactMatch, regexMatch or labelMatch`},
		{1, hyper, `spec.members[0].selector: no exactMatch, expected exactMatch for a member of type HyperNode`},
		{1, byPattern, "spec.members[0].selector.regexMatch.pattern: a(b, expected a regular expression: error parsing regexp: missing closing ): `a(b`"},
		{1, byLabel, `spec.members[0].selector.labelMatch: <error>, expected a label selector: "Near" is not a valid label selector operator`},
	} {
		feed := idleFeed(t, Options{})
		feed.setDomain(someHyperNode("rack", test.tier, test.member))
		if reported := wholeModel(t, feed).domains; len(reported) > 0 {
			t.Errorf("reported %v", reported)
		}
		if problems := feed.Problems(); len(problems) != 1 || problems[0].Error() != `HyperNode "rack": `+test.want {
			t.Errorf("problems %v\nwant %s", problems, test.want)
		}
	}
}
