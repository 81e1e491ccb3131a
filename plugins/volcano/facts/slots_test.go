package facts

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tephra.sh/volcano/tephrav1"
)

const slotName = "tephra.sh/gpu-slot"

// amountOf is the amount of a kind by its name; -1: none.
func amountOf(m *model, name string, amounts []*tephrav1.Amount) int64 {
	for i, kind := range m.kinds {
		for _, amount := range amounts {
			if kind == name && amount.Kind == uint32(firstExtended+i) {
				return amount.Amount
			}
		}
	}
	return -1
}

func TestSlotsThatForeignPodsHoldAreNotGivenOutAgain(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("with", func(n *corev1.Node) { n.Status.Allocatable[slotName] = resource.MustParse("80") }))
	feed.setNode(someNode("down", func(n *corev1.Node) { n.Status.Allocatable[slotName] = resource.MustParse("0") }))
	feed.setNode(someNode("without"))
	feed.setGroup(someGroup("g", 1))
	feed.setPod(somePod("ours", "g", wants("nvidia.com/gpu", "1", slotName, "1")))
	feed.setPod(somePod("hoard", "", foreign, wants(slotName, "40"), on("with")))
	feed.setPod(somePod("by-hand", "", wants(slotName, "39"), on("with")))
	m := wholeModel(t, feed)
	for node, want := range map[string]int64{"with": 80, "down": -1, "without": unlimitedSlots} {
		if got := amountOf(m, slotName, m.nodes[node].Allocatable); got != want {
			t.Errorf("node %s has %d slots, expected %d", node, got, want)
		}
	}
	for pod, want := range map[string]int64{"pod-hoard": 40, "pod-by-hand": 39} {
		if got := amountOf(m, slotName, m.tasks[pod].GetPod().GetContainers()[0].Requests); got != want {
			t.Errorf("%s holds %d slots, expected %d", pod, got, want)
		}
	}
	if got := amountOf(m, slotName, m.jobs["group-g"].Gang.Roles[0].Pod.Containers[0].Requests); got != 1 {
		t.Errorf("a pod of ours asks for %d slots", got)
	}
	var said []string
	for _, problem := range feed.Problems() {
		said = append(said, problem.Error())
	}
	if all := strings.Join(said, "\n"); len(said) != 2 || !strings.Contains(all, `Pod "team/hoard": resources.limits[tephra.sh/gpu-slot]: 40, expected none in a pod that this scheduler did not place`) {
		t.Errorf("problems %s", all)
	}
	feed.dropPod(feed.pods["pod-hoard"].obj)
	feed.dropPod(feed.pods["pod-by-hand"].obj)
	if problems := feed.Problems(); len(problems) != 0 {
		t.Errorf("problems that stay: %v", problems)
	}
}

func TestAPodOfOursHasOneSlotForTheDevicesOfAContainer(t *testing.T) {
	for slots, want := range map[string]string{"1": "", "2": "expected 1, for all devices of the container"} {
		feed := idleFeed(t, Options{Admit: true})
		feed.setNode(someNode("with", func(n *corev1.Node) { n.Status.Allocatable[slotName] = resource.MustParse("80") }))
		feed.setGroup(someGroup("g", 1))
		feed.setPod(somePod("p", "g", wants("nvidia.com/gpu", "1", slotName, slots)))
		if got := problemsOf(feed); got != "" != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s slots: %q, expected %q", slots, got, want)
		}
	}
}
