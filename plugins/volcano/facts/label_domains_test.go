package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"tephra.sh/volcano/tephrav1"
)

var someDomainLabels = []string{"topology.kubernetes.io/zone", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"}

// at gives the node values of someDomainLabels, from the widest, "" for none.
func at(values ...string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		for i, value := range values {
			if value != "" {
				node.Labels[someDomainLabels[i]] = value
			}
		}
	}
}

func named(nodes ...string) *topologyv1alpha1.HyperNode {
	var members []topologyv1alpha1.MemberSpec
	for _, node := range nodes {
		members = append(members, nodeMember(topologyv1alpha1.MemberSelector{ExactMatch: &topologyv1alpha1.ExactMatch{Name: node}}))
	}
	return someHyperNode("a", 1, members...)
}

// forest is what the feed tells of domains, one a line: "zone-a (zone, 3): n1 n2 [parts]".
func forest(t *testing.T, feed *Feed) string {
	t.Helper()
	reported := wholeModel(t, feed).domains
	var lines []string
	for _, name := range sortedKeys(reported) {
		lines = append(lines, lineOf(reported[name]))
	}
	return strings.Join(lines, "\n")
}

func lineOf(d *tephrav1.Domain) string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s, %d): %s %s", d.Name, d.TierName, d.Tier,
		strings.Join(d.Nodes, " "), fmt.Sprint(d.Domains)))
}

func TestLabelsOfNodesTellDomainsNamedAfterThoseAbove(t *testing.T) {
	feed := idleFeed(t, Options{DomainLabels: someDomainLabels})
	feed.setNode(someNode("n1", at("a", "s1", "l1")))
	feed.setNode(someNode("n2", at("a", "s1", "l1")))
	feed.setNode(someNode("n3", at("a", "s1", "l2")))
	feed.setNode(someNode("n4", at("b", "s1", "l1")))
	feed.setNode(someNode("spine-only", at("a", "s1")))
	feed.setNode(someNode("zone-only", at("b")))
	feed.setNode(someNode("no-spine", at("a", "", "s1")))
	feed.setNode(someNode("no-zone", at("", "s1", "l1")))
	feed.setNode(someNode("leaf-only", at("", "", "l1")))
	feed.setNode(someNode("nowhere"))
	want := `-/-/l1 (leaf, 1): leaf-only []
-/s1 (spine, 2):  [-/s1/l1]
-/s1/l1 (leaf, 1): no-zone []
a (zone, 3):  [a/-/s1 a/s1]
a/-/s1 (leaf, 1): no-spine []
a/s1 (spine, 2): spine-only [a/s1/l1 a/s1/l2]
a/s1/l1 (leaf, 1): n1 n2 []
a/s1/l2 (leaf, 1): n3 []
b (zone, 3): zone-only [b/s1]
b/s1 (spine, 2):  [b/s1/l1]
b/s1/l1 (leaf, 1): n4 []`
	if got := forest(t, feed); got != want {
		t.Errorf("reported\n%s\nwant\n%s", got, want)
	}
}

func TestWithoutKeysLabelsTellNoDomains(t *testing.T) {
	feed := idleFeed(t, Options{})
	feed.setNode(someNode("n1", at("a", "s1", "l1")))
	if got := forest(t, feed); got != "" {
		t.Errorf("reported %s", got)
	}
}

func TestALabelThatChangesChangesOnlyTheDomainsItNames(t *testing.T) {
	feed := idleFeed(t, Options{DomainLabels: someDomainLabels})
	for i := range 40 {
		feed.setNode(someNode(fmt.Sprintf("n%02d", i), at(fmt.Sprint("z", i/20), fmt.Sprint("s", i/10), fmt.Sprint("l", i/2))))
	}
	feed.Drain()
	for _, test := range []struct {
		name   string
		change func()
		want   []string // of domains, "-" before domains that are gone
	}{
		{"another leaf", func() { feed.setNode(someNode("n00", at("z0", "s0", "l1"))) }, []string{"z0/s0/l0", "z0/s0/l1"}},
		{"and back", func() { feed.setNode(someNode("n00", at("z0", "s0", "l0"))) }, []string{"z0/s0/l0", "z0/s0/l1"}},
		{"a label of something else", func() {
			feed.setNode(someNode("n00", at("z0", "s0", "l0"), func(n *corev1.Node) { n.Labels["team"] = "x" }))
		}, nil},
		{"no leaf any more", func() { feed.setNode(someNode("n00", at("z0", "s0"))) }, []string{"z0/s0", "z0/s0/l0"}},
		{"the last node of a leaf goes", func() { feed.dropNode(someNode("n01")) }, []string{"z0/s0", "-z0/s0/l0"}},
		{"a new zone", func() { feed.setNode(someNode("n39", at("z2", "s9", "l99"))) },
			[]string{"z1/s3/l19", "z2", "z2/s9", "z2/s9/l99"}},
		{"which goes again", func() { feed.setNode(someNode("n39", at("z1", "s3", "l19"))) },
			[]string{"z1/s3/l19", "-z2", "-z2/s9", "-z2/s9/l99"}},
		{"there and back within one drain", func() {
			feed.setNode(someNode("n39", at("z2")))
			feed.setNode(someNode("n39", at("z1", "s3", "l19")))
		}, nil},
	} {
		test.change()
		var got []string
		for _, event := range feed.Drain() {
			if fact := event.GetDomainUpserted(); fact != nil {
				got = append(got, fact.Domain.Name)
			}
			if fact := event.GetDomainRemoved(); fact != nil {
				got = append(got, "-"+fact.Name)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: reported %v, want %v", test.name, got, test.want)
		}
	}
}

func TestHyperNodesWinOverLabelsNodeByNode(t *testing.T) {
	feed := idleFeed(t, Options{DomainLabels: someDomainLabels[:1]})
	feed.setNode(someNode("n1", at("a")))
	feed.setNode(someNode("n2", at("a")))
	byLabel := someHyperNode("b", 1, nodeMember(topologyv1alpha1.MemberSelector{
		RegexMatch: &topologyv1alpha1.RegexMatch{Pattern: "^n"}}))
	unreadable := named("n1", "n2")
	unreadable.Spec.Tier = -1
	for _, test := range []struct {
		name   string
		change func()
		want   string
	}{
		{"none", func() {}, "a (zone, 1): n1 n2 []"},
		{"of the name of a domain", func() { feed.setDomain(named("n1")) }, "a (rack, 1): n1 []\na/ (zone, 1): n2 []"},
		{"with both", func() { feed.setDomain(named("n1", "n2")) }, "a (rack, 1): n1 n2 []"},
		{"that cannot be described", func() { feed.setDomain(unreadable) }, "a/ (zone, 1): n1 n2 []"},
		{"gone", func() { feed.dropDomain(unreadable) }, "a (zone, 1): n1 n2 []"},
		{"by pattern", func() { feed.setDomain(byLabel) }, "b (rack, 1): n1 n2 []"},
		{"in two", func() { feed.setDomain(named("n1")) }, "a (rack, 1): n1 []\nb (rack, 1): n1 n2 []"},
		{"in one of two still", func() { feed.dropDomain(byLabel) }, "a (rack, 1): n1 []\na/ (zone, 1): n2 []"},
		{"a node that was gone", func() {
			feed.dropNode(someNode("n2"))
			feed.setNode(someNode("n2", at("c")))
		}, "a (rack, 1): n1 []\nc (zone, 1): n2 []"},
	} {
		test.change()
		if got := forest(t, feed); got != test.want {
			t.Errorf("%s: reported\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestTiersAreNamedAfterTheirKeysSoThatNoTwoAreAlike(t *testing.T) {
	got := tierNames([]string{"a.io/zone", "b.io/zone", "b.io/leaf", "rack"})
	if want := []string{"a.io/zone", "b.io/zone", "leaf", "rack"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDomainLabelsThatAreNoKeysAreNamed(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want string
	}{
		{nil, ""},
		{someDomainLabels, ""},
		{[]string{"zone", "a b"}, `"a b", expected the key of a label`},
		{[]string{""}, `"", expected the key of a label`},
		{[]string{"zone", "rack", "zone"}, `"zone" is named twice`},
	} {
		got := ""
		if err := CheckDomainLabels(test.keys); err != nil {
			got = err.Error()
		}
		if (test.want == "") != (got == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%q: %q, want %q", test.keys, got, test.want)
		}
	}
}
