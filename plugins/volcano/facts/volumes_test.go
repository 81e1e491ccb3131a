package facts

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"volcano.sh/volcano/pkg/scheduler/plugins/util/k8s"

	"tephra.sh/volcano/tephrav1"
)

// volumeWorld is a random cluster with volumes, as informers of kube-scheduler's plugins and as a feed.
type volumeWorld struct {
	t       *testing.T
	dice    *rand.Rand
	feed    *Feed
	kube    informers.SharedInformerFactory
	pods    map[string]*corev1.Pod
	pending *corev1.Pod
}

const (
	ebs = "ebs.csi.aws.com"
	pd  = "pd.csi.storage.gke.io"
)

func (w *volumeWorld) percent(p int) bool { return w.dice.IntN(100) < p }

func (w *volumeWorld) store(informer cache.SharedIndexInformer, object any) {
	if err := informer.GetIndexer().Add(object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *volumeWorld) setCSINode(name string) {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, driver := range []string{ebs, pd} {
		one := storagev1.CSINodeDriver{Name: driver, NodeID: name}
		if w.percent(85) {
			count := w.dice.Int32N(5)
			one.Allocatable = &storagev1.VolumeNodeResources{Count: &count}
		}
		node.Spec.Drivers = append(node.Spec.Drivers, one)
	}
	w.store(w.kube.Storage().V1().CSINodes().Informer(), node)
	w.feed.setNodeDrivers(node)
}

// setPV: two volumes may have the same handle, as volumes made by hand do.
func (w *volumeWorld) setPV(name string) {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	source := &volume.Spec.PersistentVolumeSource
	switch w.dice.IntN(6) {
	case 0:
		source.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: fmt.Sprint("disk-", w.dice.IntN(3))}
		volume.Labels = map[string]string{corev1.LabelTopologyZone: "a"}
	case 1:
		source.NFS = &corev1.NFSVolumeSource{Server: "nfs", Path: "/"}
	case 2:
		source.CSI = &corev1.CSIPersistentVolumeSource{Driver: "files.example.com", VolumeHandle: "all"} // no node limits it
	default:
		source.CSI = &corev1.CSIPersistentVolumeSource{Driver: ebs, VolumeHandle: fmt.Sprint("vol-", w.dice.IntN(8))}
	}
	w.store(w.kube.Core().V1().PersistentVolumes().Informer(), volume)
	w.feed.setVolume(volume)
}

func (w *volumeWorld) setClaim(name string) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if w.percent(25) {
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	class := []string{"fast", "old", "unknown", ""}[w.dice.IntN(4)]
	claim.Spec.StorageClassName = &class
	if w.percent(65) {
		claim.Spec.VolumeName = fmt.Sprint("pv-", w.dice.IntN(9)) // pv-8 does not exist
	}
	w.store(w.kube.Core().V1().PersistentVolumeClaims().Informer(), claim)
	w.feed.setClaim(claim)
}

// setEphemeralClaim makes the claim of a volume that belongs to the pod.
func (w *volumeWorld) setEphemeralClaim(pod *corev1.Pod, of *corev1.Volume) {
	class, yes := "fast", true
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name + "-" + of.Name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}}}}
	claim.Spec.StorageClassName = &class
	w.store(w.kube.Core().V1().PersistentVolumeClaims().Informer(), claim)
	w.feed.setClaim(claim)
}

func (w *volumeWorld) setAttachment(name string) {
	volume := fmt.Sprint("pv-", w.dice.IntN(9))
	at := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: ebs, NodeName: fmt.Sprint("n", w.dice.IntN(3)), Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}}}
	w.store(w.kube.Storage().V1().VolumeAttachments().Informer(), at)
	w.feed.setAttachment(at)
}

func (w *volumeWorld) volumes(pod *corev1.Pod) {
	for i := w.dice.IntN(4); i > 0; i-- {
		of := corev1.Volume{Name: fmt.Sprint("v", i)}
		readOnly := w.percent(50)
		switch w.dice.IntN(12) {
		case 0:
			of.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: fmt.Sprint("disk-", w.dice.IntN(3)), ReadOnly: readOnly}
		case 1:
			of.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: fmt.Sprint("vol-", w.dice.IntN(3)), ReadOnly: readOnly}
		case 2:
			of.ISCSI = &corev1.ISCSIVolumeSource{IQN: fmt.Sprint("iqn-", w.dice.IntN(2)), ReadOnly: readOnly}
		case 3:
			var monitors []string
			for _, name := range []string{"m0", "m1", "m2"} {
				if w.percent(50) {
					monitors = append(monitors, name)
				}
			}
			of.RBD = &corev1.RBDVolumeSource{CephMonitors: monitors, RBDPool: "pool", RBDImage: fmt.Sprint("i", w.dice.IntN(2)), ReadOnly: readOnly}
		case 4, 5:
			of.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}
			w.setEphemeralClaim(pod, &of)
		case 6:
			of.EmptyDir = &corev1.EmptyDirVolumeSource{}
		default:
			of.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("c", w.dice.IntN(8))}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, of)
	}
}

func newVolumeWorld(t *testing.T, seed uint64) *volumeWorld {
	w := &volumeWorld{t: t, dice: rand.New(rand.NewPCG(seed, 1)), feed: idleFeed(t, Options{}),
		kube: informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0), pods: map[string]*corev1.Pod{}}
	for i := range 3 {
		name := fmt.Sprint("n", i)
		w.feed.setNode(someNode(name))
		if w.percent(90) {
			w.setCSINode(name)
		}
	}
	for name, provisioner := range map[string]string{"fast": ebs, "old": "kubernetes.io/gce-pd"} {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
		w.store(w.kube.Storage().V1().StorageClasses().Informer(), class)
		w.feed.setClass(class)
	}
	steps := []func(){}
	for i := range 8 {
		steps = append(steps, func() { w.setPV(fmt.Sprint("pv-", i)) }, func() { w.setClaim(fmt.Sprint("c", i)) })
	}
	for i := range 2 + w.dice.IntN(6) {
		steps = append(steps, func() { w.setPod(fmt.Sprint("p", i)) })
	}
	steps = append(steps, func() {
		w.pending = somePod("pending", "g-pending")
		w.volumes(w.pending)
		w.feed.setGroup(someGroup("g-pending", 1))
		w.feed.setPod(w.pending)
	})
	// Informers deliver kinds of objects in any order.
	w.dice.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps {
		step()
	}
	for i := range w.dice.IntN(4) {
		w.setAttachment(fmt.Sprint("a", i))
	}
	return w
}

func (w *volumeWorld) setPod(name string) {
	pod := somePod(name, "g-"+name, on(fmt.Sprint("n", w.dice.IntN(3))))
	pod.UID = types.UID(fmt.Sprint("pod-", name, "-", len(w.pods), "-", w.dice.IntN(1000)))
	if w.percent(40) {
		foreign(pod)
	} else {
		w.feed.setGroup(someGroup("g-"+name, 1))
	}
	w.volumes(pod)
	w.pods[name] = pod
	w.feed.setPod(pod)
}

// change is one thing that happens in the cluster.
func (w *volumeWorld) change() {
	switch w.dice.IntN(7) {
	case 0:
		w.setCSINode(fmt.Sprint("n", w.dice.IntN(3)))
	case 1:
		w.setPV(fmt.Sprint("pv-", w.dice.IntN(8)))
	case 2:
		w.setClaim(fmt.Sprint("c", w.dice.IntN(8)))
	case 3:
		w.setPod(fmt.Sprint("later-", len(w.pods)))
	case 4:
		w.setAttachment(fmt.Sprint("later-", w.dice.IntN(5)))
	default:
		for _, name := range sortedKeys(w.pods) {
			w.feed.dropPod(w.pods[name])
			delete(w.pods, name)
			return
		}
	}
}

// kubeHandle has kube-scheduler's own snapshot: Volcano's does not know which claims pods use.
type kubeHandle struct {
	fwk.Handle
	snapshot fwk.SharedLister
}

func (h kubeHandle) SnapshotSharedLister() fwk.SharedLister { return h.snapshot }

// upstream is what kube-scheduler's plugins say of the pending pod on each node.
func (w *volumeWorld) upstream() map[string]bool {
	ctx := context.Background()
	snapshot := schedulercache.NewSnapshot(slices.Collect(maps.Values(w.pods)), []*corev1.Node{someNode("n0"), someNode("n1"), someNode("n2")})
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		w.t.Fatal(err)
	}
	handle := kubeHandle{k8s.NewFramework(nil, k8s.WithInformerFactory(w.kube),
		k8s.WithSharedCSIManager(nodevolumelimits.NewCSIManager(w.kube.Storage().V1().CSINodes().Lister()))), snapshot}
	limits, err := nodevolumelimits.NewCSI(ctx, nil, handle, feature.Features{})
	if err != nil {
		w.t.Fatal(err)
	}
	restrictions, err := volumerestrictions.New(ctx, nil, handle, feature.Features{})
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]bool{}
	for _, info := range nodes {
		name := info.Node().Name
		out[name] = true
		for _, plugin := range []fwk.Plugin{limits, restrictions} {
			state := k8sframework.NewCycleState()
			_, status := plugin.(fwk.PreFilterPlugin).PreFilter(ctx, state, w.pending, nodes)
			if !status.IsSuccess() && !status.IsSkip() {
				w.t.Fatal(status)
			}
			if status.IsSkip() {
				continue
			}
			status = plugin.(fwk.FilterPlugin).Filter(ctx, state, w.pending, info)
			if status.Code() != fwk.Success && status.Code() != fwk.Unschedulable {
				w.t.Fatal(status)
			}
			out[name] = out[name] && status.IsSuccess()
		}
	}
	return out
}

// allows is the rule of the engine (queue/job.h): whether the facts have a place for the pod on the node.
func allows(m *model, pod *tephrav1.PodTemplate, node string) bool {
	type held struct {
		own, tasks, least int32
		names             map[string]bool
	}
	of := func(asked *tephrav1.DomainLimit) held {
		out := held{least: asked.Max, names: map[string]bool{}}
		for _, task := range m.tasks {
			template := task.Pod
			for _, role := range m.jobs[task.Job].GetGang().GetRoles() {
				if role.Name == task.Role {
					template = role.Pod
				}
			}
			if task.Node == "" || asked.TopologyKey != clusterKey && task.Node != node {
				continue
			}
			for _, limit := range template.GetLimits() {
				if limit.Group == asked.Group && limit.TopologyKey == asked.TopologyKey {
					out.tasks, out.own, out.least = out.tasks+1, out.own+limit.Own, min(out.least, limit.Max)
					for _, name := range limit.Shared {
						out.names[name] = true
					}
				}
			}
		}
		return out
	}
	for _, asked := range pod.Limits {
		held := of(asked)
		if asked.Own == 0 && len(asked.Shared) == 0 {
			if held.tasks+1 > held.least {
				return false
			}
			continue
		}
		taken, more := held.own+int32(len(held.names)), asked.Own
		for _, name := range asked.Shared {
			if !held.names[name] {
				more++
			}
		}
		for _, limit := range m.nodes[node].Limits {
			if limit.Group == asked.Group && more > 0 && taken+more > limit.Places {
				return false
			}
		}
	}
	return true
}

func TestTheFactsOfVolumesSayWhatTheFiltersOfKubernetesSay(t *testing.T) {
	var open, full int
	for seed := range uint64(1000) {
		w := newVolumeWorld(t, seed)
		m := newModel()
		for round := range 4 {
			if round > 0 {
				w.change()
			}
			events := w.feed.Drain()
			if round == 0 {
				events = w.feed.Sync()
			}
			if err := m.apply(events); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			want := w.upstream()
			pod := w.feed.pods[string(w.pending.UID)].shape.pod
			for _, name := range sortedKeys(want) {
				if want[name] {
					open++
				} else {
					full++
				}
				if got := allows(m, pod, name); got != want[name] {
					t.Fatalf("seed %d, round %d, node %s: the facts allow the pod: %v, Kubernetes: %v\npod: %v\nlimits: %v\nnode: %v\ntasks: %v",
						seed, round, name, got, want[name], w.pending.Spec.Volumes, pod.Limits, m.nodes[name].Limits, slices.Sorted(maps.Values(m.lines())))
				}
			}
		}
		fresh := newModel()
		if err := fresh.apply(w.feed.Sync()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if what := difference(m.lines(), fresh.lines()); what != "" {
			t.Fatalf("seed %d: the changes left something out: %s", seed, what)
		}
	}
	t.Logf("%d nodes with a place, %d without", open, full)
	if full < 500 || open < 500 {
		t.Errorf("%d nodes with a place and %d without are too few", open, full)
	}
}
