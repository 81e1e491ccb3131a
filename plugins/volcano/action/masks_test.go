package action

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/facts"
)

func classes(namespace string, count int) []facts.MaskedClass {
	var out []facts.MaskedClass
	for i := range count {
		out = append(out, facts.MaskedClass{Name: fmt.Sprintf("%s-%04d", namespace, i),
			Example: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}})
	}
	return out
}

// session judges classes, each of which takes 100 ms, and returns the names of the classes that were judged.
func session(m *maskTurns, all []facts.MaskedClass) (judged []string) {
	now := time.Unix(0, 0)
	m.judge(all, func() time.Time { return now }, func(class facts.MaskedClass) {
		judged = append(judged, class.Name)
		now = now.Add(100 * time.Millisecond)
	})
	return judged
}

func TestClassesOfEachNamespaceAreJudgedInTurn(t *testing.T) {
	m := &maskTurns{}
	all := append(classes("mallory", 1000), classes("team", 2)...)
	first := session(m, all)
	if len(first) != 5 || !m.left || !slices.Contains(first, "team-0000") || !slices.Contains(first, "team-0001") {
		t.Errorf("the first session judged %v, left some: %v", first, m.left)
	}
	seen := map[string]int{}
	for range 400 {
		for _, name := range session(m, all) {
			seen[name]++
		}
	}
	if len(seen) != len(all) {
		t.Errorf("400 sessions judged %d of %d classes", len(seen), len(all))
	}
	if seen["team-0000"] < 100 {
		t.Errorf("team-0000 was judged %d times", seen["team-0000"])
	}
}

func TestAllClassesAreJudgedInASessionThatHasTheTime(t *testing.T) {
	m := &maskTurns{}
	for range 3 {
		if judged := session(m, classes("team", 5)); len(judged) != 5 || m.left {
			t.Errorf("judged %s, left some: %v", strings.Join(judged, ","), m.left)
		}
	}
	session(m, nil)
	if len(m.judged) != 0 || m.left {
		t.Errorf("classes that are gone are remembered: %v", m.judged)
	}
}

// claimed are a bound claim and its CSI volume, which only nodes of that zone can have; empty: every node.
func claimed(name, zone string) []runtime.Object {
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: v1.PersistentVolumeSpec{
		PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "x.csi", VolumeHandle: name}},
		ClaimRef:               &v1.ObjectReference{Namespace: sink.Namespace, Name: name, UID: types.UID("claim-" + name)}}}
	if zone != "" {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}}}}
	}
	return []runtime.Object{volume, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: sink.Namespace, Name: name, UID: types.UID("claim-" + name),
			Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec:   v1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}}
}

func uses(pod *v1.Pod, claim string) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
}

// The engine counts volumes itself, so it can evict the pod that holds the last place. Where a volume is stays with
// Volcano's predicates.
func TestANodeWithoutAPlaceForAVolumeIsLeftToTheEngine(t *testing.T) {
	predicates.ResetVolumeBindingPluginForTest()
	cluster, err := sink.New(&facts.Options{Admit: true})
	ok(t, err)
	t.Cleanup(cluster.Stop)
	profile, err := sink.ReadProfile(configuration)
	ok(t, err)
	places := int32(1)
	objects := append(claimed("held", ""), claimed("wanted", "full")...)
	objects = append(objects, sink.Queue("q"))
	for _, name := range []string{"full", "elsewhere"} {
		node, err := sink.GPUNode(name, 2)
		ok(t, err)
		node.Labels = map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: name}
		objects = append(objects, node, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: "x.csi", NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &places}}}}})
	}
	holder, holders := sink.Gang("holder", "q", 1, sink.GPUs(1))
	holders[0].Spec.NodeName, holders[0].Status.Phase = "full", v1.PodRunning
	uses(holders[0], "held")
	owner, owners := sink.Gang("owner", "q", 1, sink.GPUs(1))
	uses(owners[0], "wanted")
	ok(t, cluster.Add(append(objects, holder, holders[0], owner, owners[0])...))
	ok(t, cluster.Start())
	cluster.Feed.Sync()
	action := &Action{feed: cluster.Feed}
	cluster.Session(profile, sink.Do("judge", func(ssn *framework.Session) {
		task := ssn.Jobs[api.JobID(sink.Namespace+"/owner")].Tasks[api.TaskID(owners[0].UID)]
		ok(t, ssn.PrePredicateFn(task))
		if ssn.PredicateForAllocateAction(task, ssn.Nodes["full"]) == nil {
			t.Error("Volcano takes the full node, so this test shows nothing")
		}
		action.judgeMasks(ssn)
	}))
	excluded := "no mask"
	for _, event := range cluster.Feed.Drain() {
		if mask := event.GetMaskUpserted(); mask != nil {
			excluded = fmt.Sprint(mask.ExcludedNodes)
		}
	}
	if excluded != "[elsewhere]" {
		t.Errorf("excluded are %s, expected [elsewhere]", excluded)
	}
}
