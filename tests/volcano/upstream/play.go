package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/record"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/action"
	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/view"
)

const (
	planLimit = 10 * time.Second
	// For what nothing waits for: evictions are sent, and facts noted, by goroutines of their own.
	quiet = 50 * time.Millisecond
)

// outcome is what came of a case's session.
type outcome struct {
	binds     map[string]string
	evicted   []string
	pipelined map[string]string // to start later, by namespace/pod: the node
	phases    map[string]string
	tasks     map[string]map[string]int
}

// play runs the case's session.
func play(c *testCase, ours bool) (*outcome, error) {
	return playIn(c, ours, nil)
}

// cycle runs a cycle of ours alone, with the plugins of the scheduler's default.
type cycle func(*sink.Cluster, sink.Profile, *action.Action)

var whole cycle = func(c *sink.Cluster, p sink.Profile, tephra *action.Action) { c.Session(p, tephra) }

var narrow cycle = func(c *sink.Cluster, p sink.Profile, tephra *action.Action) { c.Cycle(view.New(c.Cache), p, tephra) }

// same plays the case in a session of the whole cluster and in one of the plan, and says where they differ.
func same(c *testCase) row {
	r := row{Case: c.title(), What: c.Name, Result: holds}
	if r.Class, r.Why = classify(c, false); r.Class == excluded {
		r.Result = excluded
		return r
	}
	var texts []string
	for _, cycle := range []cycle{whole, narrow} {
		got, err := playIn(c, true, cycle)
		if err != nil {
			r.Result, r.Why = fails, err.Error()
			return r
		}
		texts = append(texts, got.String())
	}
	if texts[0] != texts[1] {
		r.Result, r.Why = fails, "whole: "+texts[0]+"; narrow: "+texts[1]
	}
	r.With = texts[0]
	return r
}

// playIn runs the case's session, or that cycle.
func playIn(c *testCase, ours bool, alone cycle) (*outcome, error) {
	cluster, err := sink.New(&facts.Options{Admit: true})
	if err != nil {
		return nil, err
	}
	defer cluster.Stop()
	predicates.ResetVolumeBindingPluginForTest() // one a process, with the informers of its first session
	actions, end, err := actionsOf(c, cluster, ours)
	if err != nil {
		return nil, err
	}
	defer end()
	var profile sink.Profile
	if profile.Tiers, profile.Arguments, err = c.tiers(); err != nil {
		return nil, err
	}
	cluster.Cache.IgnoredCSIProvisioners = sets.New(c.Cluster.IgnoreProvisioners...)
	if err := cluster.Add(c.Cluster.objects()...); err != nil {
		return nil, err
	}
	if err := cluster.Start(); err != nil {
		return nil, err
	}
	// Volcano does not look again at a pod that came before its claims.
	if err := cluster.Add(c.Cluster.pods()...); err != nil {
		return nil, err
	}
	time.Sleep(quiet)
	setHyperNodes(c, cluster)

	out := &outcome{binds: map[string]string{}}
	prepare := sink.Do("prepare", func(ssn *framework.Session) {
		setShard(c, ssn)
		time.Sleep(quiet) // the session's volume plugin fills its caches in the background
	})
	look := sink.Do("look", func(ssn *framework.Session) { out.look(ssn, cluster.Feed) })
	defer setShard(&testCase{}, nil)
	if alone == nil {
		cluster.Session(profile, append(append([]framework.Action{prepare}, actions...), look)...)
	} else {
		if profile, err = sink.Default(); err != nil {
			return nil, err
		}
		cluster.Session(profile, prepare) // fills caches of plugins
		for range 3 {
			alone(cluster, profile, actions[0].(*action.Action))
			time.Sleep(action.StatusInterval)
		}
		out.phases = map[string]string{}
		for _, group := range c.Cluster.PodGroups {
			out.phases[group.Namespace+"/"+group.Name] = string(cluster.Phase(group.Namespace, group.Name))
		}
	}
	if err := cluster.AwaitBindings(); err != nil {
		return nil, err
	}
	time.Sleep(quiet)
	for _, binding := range cluster.Bindings() {
		out.binds[name(binding.Pod)] = binding.Node
	}
	for _, pod := range cluster.Evictions() {
		out.evicted = append(out.evicted, name(pod))
	}
	slices.Sort(out.evicted)
	return out, nil
}

func name(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// actionsOf are the case's actions, with ours once in place of the actions whose work it does.
func actionsOf(c *testCase, cluster *sink.Cluster, ours bool) ([]framework.Action, func(), error) {
	if !ours {
		actions, err := sink.StockActions(c.Actions...)
		return actions, func() {}, err
	}
	folder, err := os.MkdirTemp("", "upstream-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(folder) // the engine reads it when it starts
	configuration, err := c.configure(folder)
	if err != nil {
		return nil, nil, err
	}
	engine, err := sink.StartEngine(nil, "--config", configuration)
	if err != nil {
		return nil, nil, err
	}
	tephra, err := action.New(cluster.Feed, action.Options{EngineSocket: engine.Socket, Client: "upstream",
		Timeout: planLimit, Recorder: &record.FakeRecorder{}})
	if err != nil {
		return nil, nil, err
	}
	actions := []framework.Action{tephra}
	for _, name := range c.Actions {
		if slices.Contains(replaced, name) {
			continue
		}
		stock, err := sink.StockActions(name)
		if err != nil {
			return nil, nil, err
		}
		actions = append(actions, stock...)
	}
	return actions, func() { _ = tephra.Close(); engine.Stop() }, nil
}

// replaced are the stock actions whose work ours does.
var replaced = slices.Concat([]string{"enqueue", "allocate", "backfill"}, evicting)

// evicting are the actions, with us as in Volcano, that a configuration may leave out.
var evicting = []string{"reclaim", "preempt"}

// configure writes the engine's configuration for the case: no pod is evicted by an action that it
// does not name.
func (c *testCase) configure(folder string) (string, error) {
	var disabled []string
	for _, name := range evicting {
		if !slices.Contains(c.Actions, name) {
			disabled = append(disabled, name)
		}
	}
	path := filepath.Join(folder, "engine.yaml")
	text := fmt.Sprintf("engine: { disabled_actions: [%s], reclaim: { patience: 0s } }\n", strings.Join(disabled, ", "))
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// look notes the session's end as upstream's own harness sees it: statuses are worked out first.
func (o *outcome) look(ssn *framework.Session, feed *facts.Feed) {
	framework.NewJobUpdater(ssn).UpdateAll()
	o.pipelined, o.phases, o.tasks = map[string]string{}, map[string]string{}, map[string]map[string]int{}
	for uid, job := range ssn.Jobs {
		o.phases[string(uid)] = string(job.PodGroup.Status.Phase)
		o.tasks[string(uid)] = map[string]int{}
		for status, tasks := range job.TaskStatusIndex {
			o.tasks[string(uid)][status.String()] = len(tasks)
		}
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			o.pipelined[name(task.Pod)] = task.NodeName
		}
		o.lookAtReservedRoom(job, feed)
	}
}

// lookAtReservedRoom: what Volcano calls pipelined is reserved room with us.
func (o *outcome) lookAtReservedRoom(job *api.JobInfo, feed *facts.Feed) {
	text, given := job.PodGroup.Annotations[annotations.ReservedRoomKey]
	if !given {
		return
	}
	room, err := annotations.ParseReservedRoom(text)
	if err != nil {
		panic(err) // we wrote it
	}
	for _, held := range room {
		if pod, known := feed.Pod(string(job.PodGroup.UID), held.Role, held.Index); known {
			o.pipelined[pod.Namespace+"/"+pod.Name] = held.Node
		}
	}
}

// objects are the cluster's but for its pods, with what an API server, its admission and a kubelet would have
// added: uids, the scheduler's name, a phase, limits of devices, and the node's own word that it is ready.
func (c *cluster) objects() []runtime.Object {
	var out []runtime.Object
	for _, node := range c.Nodes {
		node.UID = cmp.Or(node.UID, types.UID("node-"+node.Name))
		if len(node.Status.Conditions) == 0 {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		}
		out = append(out, node)
	}
	for _, group := range c.PodGroups {
		group.UID = cmp.Or(group.UID, types.UID("group-"+group.Namespace+"-"+group.Name))
		out = append(out, group)
	}
	for _, queue := range c.Queues {
		queue.UID = cmp.Or(queue.UID, types.UID("queue-"+queue.Name))
		out = append(out, queue)
	}
	out = appendAll(out, c.hyperNodes())
	out = appendAll(out, c.PriorityClasses)
	out = appendAll(out, c.ResourceQuotas)
	out = appendAll(out, c.Volumes)
	out = appendAll(out, c.Claims)
	out = appendAll(out, c.StorageClasses)
	out = appendAll(out, c.ResourceSlices)
	out = appendAll(out, c.DeviceClasses)
	return appendAll(out, c.ResourceClaims)
}

func (c *cluster) pods() []runtime.Object {
	var out []runtime.Object
	for _, pod := range c.Pods {
		pod.UID = cmp.Or(pod.UID, types.UID(name(pod)))
		pod.Spec.SchedulerName = cmp.Or(pod.Spec.SchedulerName, sink.SchedulerName)
		pod.Status.Phase = cmp.Or(pod.Status.Phase, corev1.PodPending)
		for i := range pod.Spec.Containers {
			limitDevices(&pod.Spec.Containers[i].Resources)
		}
		out = append(out, pod)
	}
	return out
}

// limitDevices: an API server takes no request of an extended resource without a limit equal to it.
func limitDevices(resources *corev1.ResourceRequirements) {
	for kind, amount := range resources.Requests {
		if !strings.Contains(string(kind), "/") {
			continue
		}
		if resources.Limits == nil {
			resources.Limits = corev1.ResourceList{}
		}
		resources.Limits[kind] = amount
	}
}

func appendAll[T runtime.Object](out []runtime.Object, objects []T) []runtime.Object {
	for _, object := range objects {
		out = append(out, object)
	}
	return out
}

// hyperNodes are the case's tree as objects: the HyperNodes that it has, or else HyperNodes with the nodes that it says
// are in them, as parts of each other where one has all nodes of another of a lower tier.
func (c *cluster) hyperNodes() []*topologyv1alpha1.HyperNode {
	tiers, nodes := map[string]int{}, map[string]sets.Set[string]{}
	for tier, names := range c.HyperNodesByTier {
		for _, name := range names {
			tiers[name] = tier
		}
	}
	for _, hyper := range c.HyperNodes {
		nodes[hyper.Name] = sets.New(hyper.RealNodes...)
	}
	var out []*topologyv1alpha1.HyperNode
	for _, hyper := range c.HyperNodes {
		object := &topologyv1alpha1.HyperNode{Spec: topologyv1alpha1.HyperNodeSpec{Tier: tiers[hyper.Name]}}
		if hyper.HyperNode != nil {
			object.Spec = *hyper.HyperNode.Spec.DeepCopy()
		}
		object.Name = hyper.Name
		object.UID = types.UID("hypernode-" + hyper.Name)
		has := func(kind topologyv1alpha1.MemberType, name string) {
			object.Spec.Members = append(object.Spec.Members, topologyv1alpha1.MemberSpec{Type: kind,
				Selector: topologyv1alpha1.MemberSelector{ExactMatch: &topologyv1alpha1.ExactMatch{Name: name}}})
		}
		if len(object.Spec.Members) == 0 {
			for _, node := range hyper.RealNodes {
				has(topologyv1alpha1.MemberTypeNode, node)
			}
			for _, other := range c.HyperNodes {
				if tiers[other.Name] < tiers[hyper.Name] && nodes[hyper.Name].IsSuperset(nodes[other.Name]) {
					has(topologyv1alpha1.MemberTypeHyperNode, other.Name)
				}
			}
		}
		out = append(out, object)
	}
	return out
}

// setHyperNodes gives the cache the case's tree, as upstream's harness does. Objects alone would not
// do: some trees have members that are nowhere.
func setHyperNodes(c *testCase, cluster *sink.Cluster) {
	if len(c.Cluster.HyperNodes) == 0 {
		return
	}
	infos, real := map[string]*api.HyperNodeInfo{}, map[string]sets.Set[string]{}
	for _, hyper := range c.Cluster.HyperNodes {
		if hyper.HyperNode != nil {
			infos[hyper.Name] = api.NewHyperNodeInfo(hyper.HyperNode)
		}
		real[hyper.Name] = sets.New(hyper.RealNodes...)
	}
	for _, info := range infos {
		for _, member := range info.HyperNode.Spec.Members {
			if member.Type != "HyperNode" || member.Selector.ExactMatch == nil {
				continue
			}
			info.Children.Insert(member.Selector.ExactMatch.Name)
			if child := infos[member.Selector.ExactMatch.Name]; child != nil {
				child.Parent = info.Name
			}
		}
	}
	byTier := map[int]sets.Set[string]{}
	for tier, names := range c.Cluster.HyperNodesByTier {
		byTier[tier] = sets.New(names...)
	}
	ready := &atomic.Bool{}
	ready.Store(true)
	cluster.Cache.Lock()
	defer cluster.Cache.Unlock()
	cluster.Cache.HyperNodesInfo = api.NewHyperNodesInfoWithCache(infos, byTier, real, ready)
}

func setShard(c *testCase, ssn *framework.Session) {
	options.ServerOpts.ShardingMode, options.ServerOpts.ShardName = c.Cluster.ShardingMode, c.Cluster.ShardName
	if ssn != nil && len(c.Cluster.NodesInShard) > 0 {
		ssn.NodesInShard = sets.New(c.Cluster.NodesInShard...)
	}
}

func (o *outcome) String() string {
	return fmt.Sprintf("binds %v, evicted %v, pipelined %v, phases %v", o.binds, o.evicted, o.pipelined, o.phases)
}
