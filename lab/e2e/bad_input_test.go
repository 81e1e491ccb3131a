package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"tephra.sh/lab"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// After each case another job of the same namespace runs, and the same processes do.
// What is wrong with a message on the engine's socket is a matter of tests/sidecar.
func TestBadInputIsReportedWhereItsOwnerLooksWhileOtherJobsRun(t *testing.T) {
	for _, bad := range []struct {
		name  string
		check func(*testing.T, *e2e.Cluster, string)
	}{
		{"a pod group of a queue that does not exist", aQueueThatDoesNotExist},
		{"a tier that no HyperNode has", aTierThatNoHyperNodeHas},
		{"a sub-group of a tier that no HyperNode has", aSubGroupThatNoTierCouldHold},
		{"more memory than any number of ours holds", hugeRequest},
		{"a gang of 70,000", hugeGang},
		{"more GPUs than any node has", nineGPUs},
		{"more of a GPU than a whole one", moreThanWhole},
		{"a wish for a GPU model that is not there", unknownModel},
		{"an inventory that is not JSON", inventory("{", "JSON")},
		{"an inventory of a later version", inventory(`{"version":2,"devices":[]}`, "version: 2")},
		{"an inventory with a GPU of negative memory", inventory(`{"version":1,"devices":[{"uuid":"GPU-x","model":"H100","memoryMiB":-1,"healthy":true}]}`, "devices[0].memoryMiB: -1")},
		{"an inventory with one GPU twice", inventory(`{"version":1,"devices":[{"uuid":"GPU-x","memoryMiB":1,"healthy":true},{"uuid":"GPU-x","memoryMiB":1,"healthy":true}]}`, "devices[1].uuid")},
		{"an inventory of 1 MiB", inventoryOfAMebibyte},
		{"an inventory of 2,000 GPUs", inventoryOfManyGPUs},
		{"a node with more memory than any number of ours holds", hugeNode},
		{"slices that are not JSON", slices("{", "slices-signature")},
		{"slices of a GPU that the node does not have", slices(`{"version":1,"containers":[{"name":"main","slices":[{"index":99,"mode":"whole","compute":1000,"memoryMiB":1}]}]}`, "slices-signature")},
		{"an engine configuration that becomes wrong", aConfigurationThatBecomesWrong},
		{"an engine configuration that is wrong at the start", aWrongConfiguration},
		{"a scheduler configuration that is wrong at the start", aWrongSchedulerConfiguration},
		{"a full disk under the journal", aFullDisk},
	} {
		t.Run(bad.name, func(t *testing.T) {
			c, ns := on(t)
			engine, scheduler := c.Engine.Pid(), c.Scheduler.Pid()
			bad.check(t, c, ns)
			ok(t, c.Submit(t.Context(), e2e.Job(ns, "other").Task("worker", 2, e2e.GPUs(1)).Object()))
			ok(t, c.JobReaches(t.Context(), ns, "other", batch.Running))
			if c.Scheduler.Alive() && c.Scheduler.Pid() != scheduler || !c.Engine.Alive() || c.Engine.Pid() != engine {
				t.Error("the scheduler or the engine ended")
			}
		})
	}
}

// --- what owners of jobs get wrong: reported in the condition of the pod group ---

func unsupportedBecause(t *testing.T, c *e2e.Cluster, job *e2e.JobSpec, because string) {
	t.Helper()
	object := job.Object()
	ok(t, c.Submit(t.Context(), object))
	said, err := c.Condition(t.Context(), object.Namespace, object.Name, waits)
	ok(t, err)
	if said.Reason != "Unsupported" || !strings.Contains(said.Message, because) {
		t.Errorf("condition %s: %q, expected Unsupported with %q", said.Reason, said.Message, because)
	}
}

func waitsBecause(t *testing.T, c *e2e.Cluster, job *e2e.JobSpec, because string) {
	t.Helper()
	object := job.Object()
	ok(t, c.Submit(t.Context(), object))
	said, err := c.Condition(t.Context(), object.Namespace, object.Name, waits)
	ok(t, err)
	if !strings.Contains(said.Message, because) {
		t.Errorf("condition %s: %q, expected %q", said.Reason, said.Message, because)
	}
}

func aTierThatNoHyperNodeHas(t *testing.T, c *e2e.Cluster, ns string) {
	waitsBecause(t, c, e2e.Job(ns, "hard").Task("worker", 2, e2e.GPUs(1)).With(func(job *batch.Job) {
		job.Spec.NetworkTopology = &batch.NetworkTopologySpec{Mode: batch.HardNetworkTopologyMode, HighestTierName: "no-such-tier"}
	}), "no domain of tier no-such-tier exists")
}

func aSubGroupThatNoTierCouldHold(t *testing.T, c *e2e.Cluster, ns string) {
	waitsBecause(t, c, e2e.Job(ns, "parts").Task("worker", 4, e2e.GPUs(1)).With(func(job *batch.Job) {
		job.Spec.Tasks[0].PartitionPolicy = &batch.PartitionPolicySpec{TotalPartitions: 2, PartitionSize: 2, MinPartitions: 2,
			NetworkTopology: &batch.NetworkTopologySpec{Mode: batch.HardNetworkTopologyMode, HighestTierName: "no-such-tier"}}
	}), "sub-group worker/0: no domain of tier no-such-tier exists")
}

func hugeRequest(t *testing.T, c *e2e.Cluster, ns string) {
	huge := e2e.Limits(map[core.ResourceName]string{core.ResourceMemory: "4Pi"})
	unsupportedBecause(t, c, e2e.Job(ns, "huge").Task("worker", 1, huge), "memory")
}

func hugeGang(t *testing.T, c *e2e.Cluster, ns string) {
	unsupportedBecause(t, c, e2e.Job(ns, "vast").Task("worker", 70000, e2e.GPUs(1)), "70000")
}

func nineGPUs(t *testing.T, c *e2e.Cluster, ns string) {
	waitsBecause(t, c, e2e.Job(ns, "nine").Task("worker", 1, e2e.GPUs(9)), "9 GPUs")
}

func moreThanWhole(t *testing.T, c *e2e.Cluster, ns string) {
	more := e2e.Limits(map[core.ResourceName]string{e2e.VGPUNumber: "1", e2e.VGPUCores: "150", e2e.VGPUMemory: "1000"})
	unsupportedBecause(t, c, e2e.Job(ns, "more").Task("worker", 1, more), e2e.VGPUCores)
}

func unknownModel(t *testing.T, c *e2e.Cluster, ns string) {
	waitsBecause(t, c, e2e.Job(ns, "wish").Task("worker", 1, e2e.GPUs(1), e2e.Annotated("nvidia.com/use-gputype", "B300")), "0")
}

// Volcano's webhook refuses such a group; where the webhook is not there, or the queue goes later, we tell.
func aQueueThatDoesNotExist(t *testing.T, c *e2e.Cluster, ns string) {
	groups := c.Volcano.SchedulingV1beta1().PodGroups(ns)
	group := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "lost"}, Spec: scheduling.PodGroupSpec{MinMember: 1, Queue: "nowhere",
		MinResources: &core.ResourceList{core.ResourceCPU: resource.MustParse("1")}}}
	if _, err := groups.Create(t.Context(), group, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v, expected Volcano's webhook to refuse queue nowhere", err)
	}
	webhooks := c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	const name = "volcano-admission-service-podgroups-validate"
	webhook, err := webhooks.Get(t.Context(), name, metav1.GetOptions{})
	ok(t, err)
	ok(t, webhooks.Delete(t.Context(), name, metav1.DeleteOptions{}))
	t.Cleanup(func() {
		webhook.ResourceVersion, webhook.UID = "", ""
		_, err := webhooks.Create(context.Background(), webhook, metav1.CreateOptions{})
		ok(t, err)
	})
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		_, err := groups.Create(ctx, group, metav1.CreateOptions{})
		return err
	}))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		now, err := groups.Get(ctx, "lost", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if said, _ := e2e.ConditionOf(now); said.Status != core.ConditionFalse || !strings.Contains(said.Message, "nowhere") {
			return fmt.Errorf("condition %+v, expected one that names queue nowhere", said)
		}
		return nil
	}))
}

// --- what nodes and pods say wrong: reported in an event about them ---

// reported waits for an event about the object that holds the text.
func reported(t *testing.T, c *e2e.Cluster, kind, name, text string) {
	t.Helper()
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		list, err := c.Kube.CoreV1().Events("").List(ctx, metav1.ListOptions{
			FieldSelector: "reason=TephraUnsupported,involvedObject.kind=" + kind + ",involvedObject.name=" + name})
		if err != nil {
			return err
		}
		var said []string
		for _, event := range list.Items {
			said = append(said, event.Message)
		}
		if !strings.Contains(strings.Join(said, "\n"), text) {
			return fmt.Errorf("events of %s %s: %q, expected one with %q", kind, name, said, text)
		}
		return nil
	}))
}

// strange is a fifth node, in a rack of its own.
func strange(t *testing.T, c *e2e.Cluster, change func(*core.Node)) *core.Node {
	t.Helper()
	node := c.Nodes.Node(0)
	node.Name = strings.Trim("strange-"+namespaceFor(t.Name()[strings.Index(t.Name(), "/")+1:]), "-")
	node.Labels[core.LabelHostname], node.Labels[lab.RackLabel] = node.Name, "nowhere"
	change(node)
	t.Cleanup(func() { _ = c.Kube.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}) })
	return node
}

func inventory(text, because string) func(*testing.T, *e2e.Cluster, string) {
	return func(t *testing.T, c *e2e.Cluster, ns string) {
		node := strange(t, c, func(node *core.Node) { node.Annotations[lab.InventoryAnnotation] = text })
		register(t, c, node)
		reported(t, c, "Node", node.Name, because)
		// It has no GPU for us now, but is a node still.
		ok(t, c.Submit(t.Context(), e2e.Job(ns, "there").Task("worker", 1, e2e.GPUs(1), onNodes(node.Name)).Object()))
		_, err := c.Condition(t.Context(), ns, "there", waits)
		ok(t, err)
	}
}

func manyGPUs(count int) string {
	list := lab.Inventory{Version: 1}
	for i := range count {
		list.Devices = append(list.Devices, lab.Device{UUID: fmt.Sprintf("GPU-%d", i), Model: "H100", MemoryMiB: 81559, Healthy: true})
	}
	text, _ := json.Marshal(list)
	return string(text)
}

func inventoryOfAMebibyte(t *testing.T, c *e2e.Cluster, _ string) {
	node := strange(t, c, func(node *core.Node) { node.Annotations[lab.InventoryAnnotation] = manyGPUs(12000) })
	_, err := asNode(t, c, node.Name).CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "Too long") {
		t.Errorf("%v, expected the API server to refuse it as too long", err)
	}
}

func inventoryOfManyGPUs(t *testing.T, c *e2e.Cluster, _ string) {
	node := strange(t, c, func(node *core.Node) { node.Annotations[lab.InventoryAnnotation] = manyGPUs(2000) })
	register(t, c, node)
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		top, err := c.Engine.Tephra(ctx, "top", "nodes", "--output", "json")
		if err != nil {
			return err
		}
		var state struct {
			Nodes []struct {
				Name    string
				Devices []struct{ Model string }
			}
		}
		if err := json.Unmarshal([]byte(top), &state); err != nil {
			return e2e.Final(err)
		}
		for _, one := range state.Nodes {
			if one.Name == node.Name && len(one.Devices) == 2000 {
				return nil
			}
		}
		return errors.New("tephra top knows no node with 2,000 devices")
	}))
}

func hugeNode(t *testing.T, c *e2e.Cluster, _ string) {
	node := strange(t, c, func(node *core.Node) {
		node.Status.Allocatable = node.Status.Allocatable.DeepCopy()
		node.Status.Allocatable[core.ResourceMemory] = resource.MustParse("4Ei")
		node.Status.Capacity = node.Status.Allocatable
	})
	register(t, c, node)
	reported(t, c, "Node", node.Name, "status.allocatable.memory")
}

// slices can only be wrong where the admission policy is not installed.
func slices(text, because string) func(*testing.T, *e2e.Cluster, string) {
	return func(t *testing.T, c *e2e.Cluster, ns string) {
		bindings := c.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
		const name = "slices.tephra.sh"
		policy, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
		ok(t, err)
		ok(t, bindings.Delete(t.Context(), name, metav1.DeleteOptions{}))
		t.Cleanup(func() {
			policy.ResourceVersion, policy.UID = "", ""
			_, err := bindings.Create(context.Background(), policy, metav1.CreateOptions{})
			ok(t, err)
		})
		pod := &core.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "strange", Annotations: map[string]string{e2e.SlicesKey: text}},
			Spec:       core.PodSpec{NodeName: "node-3", SchedulerName: "absent", Containers: []core.Container{{Name: "main", Image: "none"}}},
		}
		ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
			_, err := c.Kube.CoreV1().Pods(ns).Create(ctx, pod, metav1.CreateOptions{})
			return err
		}))
		reported(t, c, "Pod", "strange", because)
	}
}

// --- what administrators get wrong: reported in the log, and by an exit code ---

func says(t *testing.T, process *e2e.Process, texts ...string) {
	t.Helper()
	ok(t, e2e.Until(t.Context(), func(context.Context) error {
		for _, text := range texts {
			if !strings.Contains(process.Said(), text) {
				return fmt.Errorf("%s: its log does not say %q:\n%s", process.Name, text, process.Tail(10))
			}
		}
		return nil
	}))
}

func aConfigurationThatBecomesWrong(t *testing.T, c *e2e.Cluster, _ string) {
	ok(t, c.Engine.Configure("engine: { search_budget: -1 }\n"))
	says(t, c.Engine.Process, "the configuration stays as it was", "engine.search_budget", "-1")
	ok(t, c.Engine.Configure("engine: { search_budget: 30000 }\n"))
	says(t, c.Engine.Process, "configuration read")
}

func aWrongConfiguration(t *testing.T, c *e2e.Cluster, _ string) {
	engine := given[*e2e.Engine](t)(c.NewEngine("wrong", "engine: { ties: sometimes }\n"))
	if err := engine.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 2") ||
		!strings.Contains(err.Error(), "engine.yaml:1") && !strings.Contains(err.Error(), "wrong.yaml:1") || !strings.Contains(err.Error(), "sometimes") {
		t.Errorf("%v, expected exit status 2 with file, line and value", err)
	}
}

func aWrongSchedulerConfiguration(t *testing.T, c *e2e.Cluster, _ string) {
	file := filepath.Join(t.TempDir(), "scheduler.conf")
	ok(t, os.WriteFile(file, []byte("actions: \"tephra, astrology\"\n"), 0o600))
	scheduler := given[*e2e.Scheduler](t)(c.NewScheduler("wrong-scheduler", c.Engine, "--scheduler-conf="+file))
	ok(t, scheduler.Start(t.Context()))
	if err := scheduler.IsReady(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 1") ||
		!strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "astrology") {
		t.Errorf("%v, expected exit status 1 with file and action", err)
	}
}

func aFullDisk(t *testing.T, c *e2e.Cluster, ns string) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("NOT CHECKED: mounting a disk of 1 MiB: %v, expected to be root", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	engine := given[*e2e.Engine](t)(c.NewEngine("full-disk", fmt.Sprintf("journal: { directory: %q, segment_size: 1Mi }\n", filepath.Join(disk, "journal"))))
	t.Cleanup(engine.Kill)
	ok(t, engine.Start(t.Context()))
	instead(t, c, given[*e2e.Scheduler](t)(c.NewScheduler("on-full-disk", engine)))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "before").Task("worker", 4, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "before", batch.Running))
	filler, err := os.Create(filepath.Join(disk, "filler"))
	ok(t, err)
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	// The page that the journal is in the midst of still has room for a few records.
	for i := 0; i < 20 && !strings.Contains(engine.Said(), "without a journal"); i++ {
		name := fmt.Sprintf("after-%d", i)
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).Task("worker", 4, e2e.GPUs(1)).Object()))
		ok(t, c.JobReaches(t.Context(), ns, name, batch.Running))
		ok(t, c.Delete(t.Context(), ns, name))
	}
	says(t, engine.Process, "scheduling continues without it", "No space left on device")
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "without").Task("worker", 4, e2e.GPUs(1)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "without", batch.Running))
	if !engine.Alive() {
		t.Error("the engine ended")
	}
}
