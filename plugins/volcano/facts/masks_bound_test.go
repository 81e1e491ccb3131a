package facts

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func persistentClaim(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
}

// A mask names each node that a class of pods cannot use, and a user chooses how many classes there are.
func TestMasksOfANamespaceAreBounded(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	feed.setNode(someNode("n1"))
	const more = mostMasks + 100
	feed.setGroup(someGroup("many", more))
	for i := range more {
		feed.setPod(somePod(fmt.Sprintf("p-%d", i), "many", persistentClaim(fmt.Sprintf("c-%d", i))))
	}
	feed.setGroup(someGroup("other", 1, func(g *schedulingv1beta1.PodGroup) { g.Namespace, g.UID = "elsewhere", "group-elsewhere" }))
	feed.setPod(somePod("q", "other", persistentClaim("c"), func(p *corev1.Pod) { p.Namespace = "elsewhere" }))
	feed.Sync()
	count := map[string]int{}
	for _, class := range feed.MaskedClasses() {
		count[class.Example.Namespace]++
		feed.SetMask(class.Name, []string{"n1"})
	}
	if count["team"] != mostMasks || count["elsewhere"] != 1 {
		t.Errorf("classes by namespace %v, expected %d of team and 1 of elsewhere", count, mostMasks)
	}
	late := 0
	for _, problem := range feed.Problems() {
		if strings.Contains(problem.Error(), fmt.Sprintf("%d kinds of pods of the namespace wait", more)) {
			late++
		}
	}
	if late != 100 {
		t.Errorf("%d pods are said to wait, expected 100", late)
	}
	// What has a mask keeps its place, and the rest follows when pods have started.
	first := feed.MaskedClasses()
	for _, class := range first {
		if _, known := feed.masks[class.Name]; !known {
			t.Fatalf("class %s of %s took the place of one with a mask", class.Name, class.Example.Name)
		}
	}
	for _, class := range first[:200] {
		if class.Example.Namespace == "team" {
			feed.dropPod(class.Example)
		}
	}
	if again := feed.MaskedClasses(); len(again) < more-200 {
		t.Errorf("%d classes, expected the rest", len(again))
	}
	for _, problem := range feed.Problems() {
		if strings.Contains(problem.Error(), "kinds of pods of the namespace wait") {
			t.Errorf("a problem that stays: %v", problem)
		}
	}
}
