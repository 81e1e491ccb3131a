package sink

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"

	"tephra.sh/volcano/action"
	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/view"
)

var (
	sameFrom  = flag.Uint64("same-from", 1, "first seed of random churn")
	sameSeeds = flag.Uint64("same-seeds", 2, "how many seeds")
)

const (
	sameNodes = 6
	sameSteps = 8
)

// churn is one random change of a cluster, the same for the same seed whatever came before.
type churn struct {
	random *rand.Rand
	gangs  []string // that are there
	made   int
}

// gang is a random gang: of GPUs, parts or processors, in one of two queues, with random demands that only Go judges.
func (c *churn) gang(t *testing.T) []runtime.Object {
	c.made++
	name := fmt.Sprintf("gang-%03d", c.made)
	each := []corev1.ResourceList{GPUs(1), GPUs(2), Cores(4), Cores(30)}[c.random.IntN(4)]
	group, pods := Gang(name, []string{"open", "limited"}[c.random.IntN(2)], 1+c.random.IntN(5), each)
	if c.random.IntN(3) == 0 { // it has no pods yet
		group.Status.Phase = schedulingv1beta1.PodGroupPending
		least := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
		group.Spec.MinResources = &least
		pods = nil
	}
	demand := c.random.IntN(8)
	for _, pod := range pods {
		pod.Labels = map[string]string{"app": name, "kind": fmt.Sprint(c.random.IntN(2))}
		switch demand {
		case 0:
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 8080, ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
		case 1:
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname,
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}}}
		case 2:
			pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelTopologyZone,
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}}}
		case 3:
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
				WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}
		case 4:
			pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "zone-1"}
		}
	}
	c.gangs = append(c.gangs, name)
	out := []runtime.Object{group}
	for _, pod := range pods {
		out = append(out, pod)
	}
	return out
}

// step changes the cluster.
func (c *churn) step(t *testing.T, cluster *Cluster) {
	t.Helper()
	var objects []runtime.Object
	for range 1 + c.random.IntN(4) {
		objects = append(objects, c.gang(t)...)
	}
	if len(c.gangs) > 6 { // one ends, with its pods
		at := c.random.IntN(len(c.gangs))
		name := c.gangs[at]
		c.gangs = slices.Delete(c.gangs, at, at+1)
		var gone []runtime.Object
		objects = slices.DeleteFunc(objects, func(object runtime.Object) bool {
			switch object := object.(type) {
			case *schedulingv1beta1.PodGroup:
				return object.Name == name
			case *corev1.Pod:
				return strings.HasPrefix(object.Name, name+"-")
			}
			return false
		})
		for _, uid := range slices.Sorted(maps.Keys(cluster.server.pods)) {
			if pod := cluster.server.pods[uid]; strings.HasPrefix(pod.Name, name+"-") {
				gone = append(gone, pod)
			}
		}
		if group := cluster.server.groups[Namespace+"/"+name]; group != nil {
			gone = append(gone, group)
		}
		if err := cluster.Delete(gone...); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.Add(objects...); err != nil {
		t.Fatal(err)
	}
}

// prepare makes an empty cluster that has not started, with our action and an engine.
func prepare(t *testing.T, clock func() time.Time) (cluster *Cluster, tephra *action.Action, profile Profile, stop func()) {
	t.Helper()
	if os.Getenv(EngineVariable) == "" {
		t.Setenv(EngineVariable, "../"+defaultEngine)
	}
	if _, err := EnginePath(); err != nil {
		t.Skip(err)
	}
	predicates.ResetVolumeBindingPluginForTest()
	cluster, err := New(&facts.Options{Admit: true})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := StartEngine(nil)
	if err != nil {
		t.Fatal(err)
	}
	if tephra, err = action.New(cluster.Feed, action.Options{EngineSocket: engine.Socket, Client: "test", Timeout: 10 * time.Second,
		Clock: clock, Recorder: &record.FakeRecorder{}}); err != nil {
		t.Fatal(err)
	}
	if profile, err = Default(); err != nil {
		t.Fatal(err)
	}
	return cluster, tephra, profile, func() {
		_ = tephra.Close()
		engine.Stop()
		cluster.Stop()
	}
}

// story is what the scheduler did with a random cluster: bindings with their annotations, evictions, and what pods and
// groups say at the end of each step.
func story(t *testing.T, seed uint64, narrow bool) (lines []string, wholes int) {
	t.Helper()
	now := time.Unix(1767225600, 0)
	cluster, tephra, profile, stop := prepare(t, func() time.Time { return now })
	defer stop()
	random := rand.New(rand.NewPCG(seed, 1))
	limited := Queue("limited")
	limited.Spec.Capability = corev1.ResourceList{gpuResource: resource.MustParse("6")}
	if err := cluster.Add(Queue("root"), Queue("open"), limited); err != nil {
		t.Fatal(err)
	}
	for i := range sameNodes {
		node, err := GPUNode(fmt.Sprintf("node-%d", i), 4)
		if err != nil {
			t.Fatal(err)
		}
		node.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%2)
		if random.IntN(5) == 0 {
			node.Spec.Taints = []corev1.Taint{{Key: "busy", Effect: corev1.TaintEffectNoSchedule}}
		}
		if err := cluster.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	of := view.New(cluster.Cache)
	c := &churn{random: random}
	for step := range sameSteps {
		c.step(t, cluster)
		for range 5 {
			time.Sleep(action.StatusInterval + 5*time.Millisecond) // and the informers that nothing waits for catch up
			now = now.Add(time.Second)
			if !narrow {
				cluster.Session(profile, tephra)
			} else if cluster.Cycle(of, profile, tephra) {
				wholes++
			}
			if err := cluster.AwaitBindings(); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, cluster.did(step)...)
			if err := cluster.Settle(); err != nil {
				t.Fatal(err)
			}
		}
		lines = append(lines, cluster.says(step)...)
	}
	return lines, wholes
}

// did are the bindings and evictions since the last Settle.
func (c *Cluster) did(step int) (lines []string) {
	for _, b := range c.Bindings() {
		lines = append(lines, fmt.Sprintf("%d: %s on %s %s %s", step, b.Pod.Name, b.Node, b.Annotations[annotations.SlicesKey],
			b.Annotations[annotations.QueueKey]))
	}
	for _, pod := range c.Evictions() {
		lines = append(lines, fmt.Sprintf("%d: %s evicted", step, pod.Name))
	}
	slices.Sort(lines)
	return lines
}

// says are what the API server has of groups and pods.
func (c *Cluster) says(step int) (lines []string) {
	c.server.mutex.Lock()
	defer c.server.mutex.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.server.groups)) {
		status := c.server.groups[name].Status
		line := fmt.Sprintf("%d: %s %s %d running", step, name, status.Phase, status.Running)
		for _, condition := range status.Conditions {
			line += fmt.Sprintf("; %s %s %s %s", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
		lines = append(lines, line)
	}
	for _, uid := range slices.Sorted(maps.Keys(c.server.pods)) {
		pod := c.server.pods[uid]
		line := fmt.Sprintf("%d: %s %s on %s", step, pod.Name, pod.Status.Phase, pod.Spec.NodeName)
		for _, condition := range pod.Status.Conditions {
			line += fmt.Sprintf("; %s %s %s %s", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSessionsOfAPlanDoWhatSessionsOfTheClusterDo(t *testing.T) {
	for seed := *sameFrom; seed < *sameFrom+*sameSeeds; seed++ {
		whole, _ := story(t, seed, false)
		narrow, wholes := story(t, seed, true)
		bound := 0
		for _, line := range whole {
			if strings.Contains(line, "Running on") {
				bound++
			}
		}
		if bound == 0 {
			t.Errorf("seed %d: no pod ran", seed)
		}
		same := true
		for i := range max(len(whole), len(narrow)) {
			if i >= len(whole) || i >= len(narrow) || whole[i] != narrow[i] {
				t.Errorf("seed %d differs:\nwhole  %s\nnarrow %s", seed, strings.Join(whole[i:min(i+3, len(whole))], "\n       "),
					strings.Join(narrow[i:min(i+3, len(narrow))], "\n       "))
				same = false
				break
			}
		}
		fmt.Printf("{\"seed\": %d, \"same\": %t, \"lines\": %d, \"running\": %d, \"whole\": %d, \"cycles\": %d}\n", seed, same, len(whole),
			bound, wholes, 5*sameSteps)
	}
}

func TestAGangDoesNotWaitUntilTheStatusOfAnotherIsWritten(t *testing.T) {
	cluster, tephra, profile, stop := prepare(t, time.Now)
	defer stop()
	node, err := GPUNode("node", 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Add(Queue("root"), Queue("open"), node); err != nil {
		t.Fatal(err)
	}
	answer := make(chan struct{})
	cluster.Slow = func(group string) {
		if group == "slow" {
			<-answer
		}
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	of := view.New(cluster.Cache)
	for _, name := range []string{"slow", "quick"} {
		group, pods := Gang(name, "open", 1, GPUs(1))
		if err := cluster.Add(group, pods[0]); err != nil {
			t.Fatal(err)
		}
		if !tephra.Narrow(of, func() *framework.Session { return framework.OpenSession(of, profile.Tiers, profile.Arguments) }) {
			t.Fatal("a session of the whole cluster is asked for")
		}
		if err := cluster.AwaitBindings(); err != nil {
			t.Fatal(err)
		}
	}
	if bound := len(cluster.Bindings()); bound != 2 {
		t.Errorf("%d pods are bound, expected both", bound)
	}
	written := func() []string {
		cluster.Sent.mutex.Lock()
		defer cluster.Sent.mutex.Unlock()
		return slices.Sorted(maps.Keys(cluster.podGroups))
	}
	if slices.Contains(written(), Namespace+"/slow") {
		t.Errorf("%q are written before the API server has answered", written())
	}
	close(answer)
	tephra.AwaitClosed()
	if want := []string{Namespace + "/quick", Namespace + "/slow"}; !slices.Equal(written(), want) {
		t.Errorf("%q are written, expected %q", written(), want)
	}
}
