package e2e_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// hostnames is a term that those nodes meet.
func hostnames(names ...string) core.NodeSelectorTerm {
	return core.NodeSelectorTerm{MatchExpressions: []core.NodeSelectorRequirement{
		{Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: names}}}
}

func onNodes(names ...string) e2e.Change {
	return func(pod *core.PodTemplateSpec) {
		pod.Spec.Affinity = &core.Affinity{NodeAffinity: &core.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{hostnames(names...)}}}}
	}
}

func labelled(key, value string) e2e.Change {
	return func(pod *core.PodTemplateSpec) { pod.Labels[key] = value }
}

// besides are the pods with that label, on the same node.
func besides(key, value string) []core.PodAffinityTerm {
	return []core.PodAffinityTerm{{TopologyKey: core.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}}
}

func expectOn(t *testing.T, c *e2e.Cluster, namespace, job string, want map[string]int) {
	t.Helper()
	if got := nodesOf(t, c, namespace, job); !maps.Equal(got, want) {
		t.Errorf("job %s: pods on %v, expected %v", job, got, want)
	}
}

func TestTaintsKeepAGangAwayUnlessItToleratesThem(t *testing.T) {
	c, ns := on(t)
	given[string](t)(c.Kubectl(t.Context(), "", "taint", "node", "node-2", "dedicated=vision:NoSchedule"))
	t.Cleanup(func() { _, _ = c.Kubectl(context.Background(), "", "taint", "node", "node-2", "dedicated-") })
	tolerates := func(pod *core.PodTemplateSpec) {
		pod.Spec.Tolerations = []core.Toleration{{Key: "dedicated", Operator: core.TolerationOpEqual, Value: "vision", Effect: core.TaintEffectNoSchedule}}
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "without").Task("worker", 4, e2e.GPUs(8)).Object()))
	_, err := c.Condition(t.Context(), ns, "without", waits)
	ok(t, err)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "with").Task("worker", 2, e2e.GPUs(8), tolerates, onNodes("node-2", "node-3")).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "with", batch.Running))
	expectOn(t, c, ns, "with", map[string]int{"node-2": 1, "node-3": 1})
	given[string](t)(c.Kubectl(t.Context(), "", "taint", "node", "node-2", "dedicated-"))
}

func TestAGangThatRepelsItselfSpreadsOverNodesAndWaitsForMore(t *testing.T) {
	c, ns := on(t)
	apart := func(name string) e2e.Change {
		return func(pod *core.PodTemplateSpec) {
			pod.Labels["app"] = name
			pod.Spec.Affinity = &core.Affinity{PodAntiAffinity: &core.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: besides("app", name)}}
		}
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "four").Task("worker", 4, e2e.GPUs(1), apart("four")).Object()))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "five").Task("worker", 5, e2e.GPUs(1), apart("five")).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "four", batch.Running))
	expectOn(t, c, ns, "four", map[string]int{"node-0": 1, "node-1": 1, "node-2": 1, "node-3": 1})
	_, err := c.Condition(t.Context(), ns, "five", waits)
	ok(t, err)
}

func TestAGangStaysWithThePodThatItIsBoundTo(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "server").Task("server", 1, e2e.GPUs(1), labelled("app", "server"), onNodes("node-2")).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "server", batch.Running))
	near := func(pod *core.PodTemplateSpec) {
		pod.Spec.Affinity = &core.Affinity{PodAffinity: &core.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: besides("app", "server")}}
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "clients").Task("client", 3, e2e.GPUs(1), near).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "clients", batch.Running))
	expectOn(t, c, ns, "clients", map[string]int{"node-2": 3})
}

func TestAGangWithHostPortsHasOnePodANode(t *testing.T) {
	c, ns := on(t)
	port := func(number int32) e2e.Change {
		return func(pod *core.PodTemplateSpec) {
			pod.Spec.Containers[0].Ports = []core.ContainerPort{{ContainerPort: number, HostPort: number}}
		}
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "four").Task("worker", 4, e2e.GPUs(1), port(9000)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "four", batch.Running))
	expectOn(t, c, ns, "four", map[string]int{"node-0": 1, "node-1": 1, "node-2": 1, "node-3": 1})
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "same-port").Task("worker", 1, e2e.GPUs(1), port(9000)).Object()))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "other-port").Task("worker", 1, e2e.GPUs(1), port(9001)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "other-port", batch.Running))
	_, err := c.Condition(t.Context(), ns, "same-port", waits)
	ok(t, err)
}

func TestAGangGoesWhereItsVolumeIs(t *testing.T) {
	c, ns := on(t)
	mode := storage.VolumeBindingWaitForFirstConsumer
	_, err := c.Kube.StorageV1().StorageClasses().Create(t.Context(), &storage.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: ns}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode}, metav1.CreateOptions{})
	ok(t, err)
	amount := core.ResourceList{core.ResourceStorage: resource.MustParse("10Gi")}
	_, err = c.Kube.CoreV1().PersistentVolumes().Create(t.Context(), &core.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: core.PersistentVolumeSpec{
			Capacity: amount, AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce}, StorageClassName: ns,
			PersistentVolumeSource: core.PersistentVolumeSource{Local: &core.LocalVolumeSource{Path: "/data"}},
			NodeAffinity:           &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{hostnames("node-3")}}},
		}}, metav1.CreateOptions{})
	ok(t, err)
	_, err = c.Kube.CoreV1().PersistentVolumeClaims(ns).Create(t.Context(), &core.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: core.PersistentVolumeClaimSpec{AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
			StorageClassName: &ns, Resources: core.VolumeResourceRequirements{Requests: amount}},
	}, metav1.CreateOptions{})
	ok(t, err)
	claim := func(pod *core.PodTemplateSpec) {
		pod.Spec.Volumes = []core.Volume{{Name: "data", VolumeSource: core.VolumeSource{
			PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		pod.Spec.Containers[0].VolumeMounts = []core.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 2, e2e.GPUs(2), claim).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	expectOn(t, c, ns, "train", map[string]int{"node-3": 2})
	bound := given[*core.PersistentVolumeClaim](t)(c.Kube.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), "data", metav1.GetOptions{}))
	if bound.Spec.VolumeName != ns {
		t.Errorf("claim of volume %q, expected %q", bound.Spec.VolumeName, ns)
	}
}

func TestAHardNetworkTopologyIsKeptAndTheGroupSaysWhatIsMissing(t *testing.T) {
	c, ns := on(t)
	within := func(topology batch.NetworkTopologySpec) func(*batch.Job) {
		return func(job *batch.Job) { job.Spec.NetworkTopology = &topology }
	}
	for _, node := range []string{"node-0", "node-2"} {
		name := "on-" + node
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).Task("server", 1, e2e.GPUs(4), onNodes(node)).Object()))
		ok(t, c.JobReaches(t.Context(), ns, name, batch.Running))
	}
	rack := 1
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "rack").Task("worker", 2, e2e.GPUs(8)).With(
		within(batch.NetworkTopologySpec{Mode: batch.HardNetworkTopologyMode, HighestTierAllowed: &rack})).Object()))
	said, err := c.Condition(t.Context(), ns, "rack", waits)
	ok(t, err)
	if !strings.Contains(said.Message, "not enough room in any of the 2 domains of tier 1") {
		t.Errorf("condition %s: %q, expected what no rack has", said.Reason, said.Message)
	}
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "row").Task("worker", 2, e2e.GPUs(8)).With(
		within(batch.NetworkTopologySpec{Mode: batch.HardNetworkTopologyMode, HighestTierName: "row"})).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "row", batch.Running))
	expectOn(t, c, ns, "row", map[string]int{"node-1": 1, "node-3": 1})
	given[string](t)(c.Kubectl(t.Context(), "", "delete", "vcjob", "row", "on-node-2", "-n", ns))
	ok(t, c.JobReaches(t.Context(), ns, "rack", batch.Running))
	expectOn(t, c, ns, "rack", map[string]int{"node-2": 1, "node-3": 1})
}

func TestEachPartitionOfATaskIsInOneRackAndNoneStartsWithoutTheOthers(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "server").Task("server", 1, e2e.GPUs(4), onNodes("node-0")).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "server", batch.Running))
	rack := 1
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 4, e2e.GPUs(8)).With(func(job *batch.Job) {
		job.Spec.Tasks[0].PartitionPolicy = &batch.PartitionPolicySpec{TotalPartitions: 2, PartitionSize: 2, MinPartitions: 2,
			NetworkTopology: &batch.NetworkTopologySpec{Mode: batch.HardNetworkTopologyMode, HighestTierAllowed: &rack}}
	}).Object()))
	said, err := c.Condition(t.Context(), ns, "train", waits)
	ok(t, err)
	if !strings.Contains(said.Message, "sub-groups must start together: room found for 1 of 2") {
		t.Errorf("condition %s: %q, expected that one of two sub-groups has room", said.Reason, said.Message)
	}
	given[string](t)(c.Kubectl(t.Context(), "", "delete", "vcjob", "server", "-n", ns))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
	racks := map[string]string{"node-0": "rack-0", "node-1": "rack-0", "node-2": "rack-1", "node-3": "rack-1"}
	of := map[string]string{}
	for _, pod := range given[[]core.Pod](t)(c.Pods(t.Context(), ns, "train")) {
		partition, here := pod.Labels[batch.TaskPartitionID], racks[pod.Spec.NodeName]
		if there := of[partition]; there != "" && there != here {
			t.Errorf("partition %s is in %s and %s, expected one rack", partition, there, here)
		}
		of[partition] = here
	}
	if len(of) != 2 {
		t.Errorf("partitions %v, expected two", of)
	}
}
