package facts

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestOnlySelectedNodesAreReported(t *testing.T) {
	feed := idleFeed(t, Options{NodeSelector: []string{"row:a", " row : b "}})
	in := func(name, row string) *corev1.Node {
		return someNode(name, func(node *corev1.Node) { node.Labels["row"] = row })
	}
	for _, node := range []*corev1.Node{in("one", "a"), in("two", "b"), in("three", "c"), someNode("four")} {
		handlers{feed}.put(node)
	}
	names := func() []string { return slices.Sorted(maps.Keys(wholeModel(t, feed).nodes)) }
	if got := names(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("nodes %v, expected one and two", got)
	}
	handlers{feed}.put(in("two", "c"))
	handlers{feed}.put(in("three", "a"))
	if got := names(); !slices.Equal(got, []string{"one", "three"}) {
		t.Errorf("nodes %v after their labels changed, expected one and three", got)
	}
	handlers{feed}.remove(in("four", "c"))
	handlers{feed}.remove(in("three", "a"))
	if got := names(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("nodes %v after two have gone, expected one", got)
	}
}

func TestASelectorThatIsNoLabelIsNamed(t *testing.T) {
	for _, one := range []string{"row", ":a", "row:", " : "} {
		if CheckNodeSelector([]string{"row:a", one}) == nil {
			t.Errorf("%q: no error", one)
		}
	}
	if err := CheckNodeSelector([]string{"row:a", "volcano.sh/role:train"}); err != nil {
		t.Error(err)
	}
}
