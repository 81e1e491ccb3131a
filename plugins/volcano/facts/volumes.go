package facts

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"

	"tephra.sh/volcano/tephrav1"
)

// volumes knows the volumes of the cluster: which driver attaches the volume of a claim, which claims only one pod
// may use, and how many volumes of a driver each node can attach. It keeps of each object only what that takes.
type volumes struct {
	claims    map[string]claim             // by namespace/name
	persisted map[string]persisted         // PersistentVolumes, by name
	drivers   map[string]string            // of storage classes, by name
	nodes     map[string]map[string]int32  // limits of nodes by driver
	limited   map[string]int               // how many nodes limit the driver
	attached  map[string]attachment        // VolumeAttachments, by name
	onNode    map[string]map[string]bool   // their names, by node
	onNodes   map[string]map[string]bool   // their names, by PersistentVolume
	usersOf   map[string]map[*pod]bool     // living pods, by the namespace/name of the claim that they use
	claimsOf  map[string]map[string]bool   // claims, by the volume that they name
	inClass   map[string]map[string]bool   // claims without a known volume, by storage class
	intree    csitranslation.CSITranslator // in-tree volumes that a CSI driver attaches
	inLines   map[*pod]bool                // living pods with volumes of their own, without a claim
	changes   map[*pod]bool                // pods whose limits may have changed since the last look
	changed   bool                         // the same of pods that do not exist yet
}

// volume is what a driver attaches; no driver: nothing that is counted.
type volume struct{ driver, handle string }

type persisted struct {
	volume
	inTree bool // a CSI driver took the place of its plugin
}

type claim struct {
	volume string // the PersistentVolume that it names; empty: none yet
	class  string
	onePod bool // ReadWriteOncePod
}

type attachment struct{ node, driver, volume string }

func newVolumes() volumes {
	return volumes{claims: map[string]claim{}, persisted: map[string]persisted{}, drivers: map[string]string{},
		nodes: map[string]map[string]int32{}, limited: map[string]int{}, attached: map[string]attachment{},
		onNode: map[string]map[string]bool{}, onNodes: map[string]map[string]bool{}, usersOf: map[string]map[*pod]bool{}, claimsOf: map[string]map[string]bool{},
		inClass: map[string]map[string]bool{}, intree: csitranslation.New(), inLines: map[*pod]bool{},
		changes: map[*pod]bool{}}
}

// claimsUsed are the claims that the pod uses, as namespace/name.
func claimsUsed(pod *corev1.Pod) []string {
	var out []string
	for _, of := range tiedVolumes(pod) {
		if name := claimName(pod, of); name != "" {
			out = append(out, pod.Namespace+"/"+name)
		}
	}
	return out
}

// tiedVolumes are the volumes that tie the pod to nodes. Of a foreign pod, further ones do not count.
func tiedVolumes(pod *corev1.Pod) (out []*corev1.Volume) {
	for i := range pod.Spec.Volumes {
		if volumeTiesToNodes(&pod.Spec.Volumes[i]) && len(out) < mostVolumes {
			out = append(out, &pod.Spec.Volumes[i])
		}
	}
	return out
}

func claimName(pod *corev1.Pod, of *corev1.Volume) string {
	switch {
	case of.PersistentVolumeClaim != nil:
		return of.PersistentVolumeClaim.ClaimName
	case of.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, of)
	default:
		return ""
	}
}

// set counts the pod in, or out. The volumes of a pod never change.
func (v *volumes) set(p *pod, in bool) {
	for _, key := range claimsUsed(p.obj) {
		index(v.usersOf, key, p, in)
	}
	if in && slices.ContainsFunc(tiedVolumes(p.obj), v.intree.IsInlineMigratable) {
		v.inLines[p] = true
	} else if !in {
		delete(v.inLines, p)
		delete(v.changes, p)
	}
}

// --- objects -------------------------------------------------------------------------------

func (f *Feed) setClaim(obj *corev1.PersistentVolumeClaim) {
	is := claim{volume: obj.Spec.VolumeName, class: storagehelpers.GetPersistentVolumeClaimClass(obj),
		onePod: slices.Contains(obj.Spec.AccessModes, corev1.ReadWriteOncePod)}
	f.translator.volumes.putClaim(obj.Namespace+"/"+obj.Name, &is)
}

func (f *Feed) dropClaim(obj *corev1.PersistentVolumeClaim) {
	f.translator.volumes.putClaim(obj.Namespace+"/"+obj.Name, nil)
}

func (v *volumes) putClaim(key string, is *claim) {
	before, known := v.claims[key]
	if known && is != nil && before == *is {
		return
	}
	if known {
		index(v.claimsOf, before.volume, key, false)
		index(v.inClass, before.class, key, false)
		delete(v.claims, key)
	}
	if is != nil {
		v.claims[key] = *is
		index(v.claimsOf, is.volume, key, true)
		index(v.inClass, is.class, key, true)
	}
	v.claimChanged(key)
}

func (v *volumes) claimChanged(key string) {
	for p := range v.usersOf[key] {
		v.changes[p] = true
	}
	v.changed = true
}

func (v *volumes) allChanged(keys map[string]bool) {
	for key := range keys {
		v.claimChanged(key)
	}
}

func (f *Feed) setVolume(obj *corev1.PersistentVolume) {
	is := f.translator.volumes.read(obj)
	f.putVolume(obj.Name, &is)
}

func (f *Feed) dropVolume(obj *corev1.PersistentVolume) { f.putVolume(obj.Name, nil) }

func (f *Feed) putVolume(name string, is *persisted) {
	v := &f.translator.volumes
	before, known := v.persisted[name]
	if known == (is != nil) && (is == nil || before == *is) {
		return
	}
	if is != nil {
		v.persisted[name] = *is
	} else {
		delete(v.persisted, name)
	}
	v.allChanged(v.claimsOf[name])
	for attached := range v.onNodes[name] {
		f.limitsOfNodeChanged(v.attached[attached].node)
	}
}

// read is what a driver attaches for the volume. An in-tree volume is attached by the CSI driver that took its place.
func (v *volumes) read(obj *corev1.PersistentVolume) persisted {
	source := obj.Spec.CSI
	if source == nil && v.intree.IsPVMigratable(obj) {
		if translated, err := v.intree.TranslateInTreePVToCSI(klog.Background(), obj); err == nil && translated != nil {
			source = translated.Spec.CSI
		}
	}
	if source == nil {
		return persisted{}
	}
	return persisted{volume{source.Driver, source.VolumeHandle}, obj.Spec.CSI == nil}
}

func (f *Feed) setClass(obj *storagev1.StorageClass) { f.putClass(obj.Name, obj.Provisioner) }

func (f *Feed) dropClass(obj *storagev1.StorageClass) { f.putClass(obj.Name, "") }

func (f *Feed) putClass(name, provisioner string) {
	v := &f.translator.volumes
	if v.intree.IsMigratableIntreePluginByName(provisioner) {
		if driver, err := v.intree.GetCSINameFromInTreeName(provisioner); err == nil {
			provisioner = driver
		}
	}
	if v.drivers[name] == provisioner {
		return
	}
	if v.drivers[name] = provisioner; provisioner == "" {
		delete(v.drivers, name)
	}
	v.allChanged(v.inClass[name])
	v.changed = true
}

func (f *Feed) setNodeDrivers(obj *storagev1.CSINode) {
	limits := map[string]int32{}
	for _, driver := range obj.Spec.Drivers {
		if driver.Allocatable != nil && driver.Allocatable.Count != nil && *driver.Allocatable.Count >= 0 &&
			len(limits) < mostDrivers {
			limits[driver.Name] = *driver.Allocatable.Count
		}
	}
	f.putNodeDrivers(obj.Name, limits)
}

func (f *Feed) dropNodeDrivers(obj *storagev1.CSINode) { f.putNodeDrivers(obj.Name, nil) }

func (f *Feed) putNodeDrivers(node string, limits map[string]int32) {
	v := &f.translator.volumes
	before := v.nodes[node]
	if maps.Equal(before, limits) {
		return
	}
	if v.nodes[node] = limits; len(limits) == 0 {
		delete(v.nodes, node)
	}
	f.limitsOfNodeChanged(node)
	for driver := range limits {
		if v.limited[driver]++; v.limited[driver] == 1 {
			v.driverChanged(driver)
		}
	}
	for driver := range before {
		if v.limited[driver]--; v.limited[driver] == 0 {
			delete(v.limited, driver)
			v.driverChanged(driver)
		}
	}
}

// driverChanged: the engine counts the volumes of the driver from now on, or no longer.
func (v *volumes) driverChanged(driver string) {
	for key := range v.claims {
		if v.volumeOf(key).driver == driver {
			v.claimChanged(key)
		}
	}
	maps.Copy(v.changes, v.inLines)
	v.changed = true
}

func (f *Feed) setAttachment(obj *storagev1.VolumeAttachment) {
	name := obj.Spec.Source.PersistentVolumeName
	if name == nil {
		return
	}
	f.putAttachment(obj.Name, attachment{obj.Spec.NodeName, obj.Spec.Attacher, *name})
}

func (f *Feed) dropAttachment(obj *storagev1.VolumeAttachment) {
	f.putAttachment(obj.Name, attachment{})
}

func (f *Feed) putAttachment(name string, is attachment) {
	v := &f.translator.volumes
	before := v.attached[name]
	if before == is {
		return
	}
	index(v.onNode, before.node, name, false)
	index(v.onNodes, before.volume, name, false)
	if v.attached[name] = is; is == (attachment{}) {
		delete(v.attached, name)
	} else {
		index(v.onNode, is.node, name, true)
		index(v.onNodes, is.volume, name, true)
	}
	f.limitsOfNodeChanged(before.node)
	f.limitsOfNodeChanged(is.node)
}

// --- what the engine learns ----------------------------------------------------------------

const (
	// clusterKey is the engine's topology key of which the whole cluster is one domain.
	clusterKey   = "tephra.sh/cluster"
	volumesGroup = "volumes/" // of a driver
	claimGroup   = "claim/"   // of a ReadWriteOncePod claim
	diskGroup    = "disk/"    // of an in-tree disk that not all pods only read
)

// volumeOf is the volume of the claim. A claim without a known volume stands for a volume that its class will make.
func (v *volumes) volumeOf(key string) volume {
	of := v.claims[key]
	if known, ok := v.persisted[of.volume]; ok {
		return known.volume
	}
	if driver := v.drivers[of.class]; driver != "" {
		return volume{driver, "claim " + key}
	}
	return volume{}
}

// places are what the pod takes of the limits of a node.
type places struct {
	own    int32
	shared map[string]bool
}

// places are by driver. The claim of an ephemeral volume belongs to its pod, so no other pod shares the volume.
func (v *volumes) places(pod *corev1.Pod) map[string]*places {
	out := map[string]*places{}
	take := func(driver string) *places {
		if v.limited[driver] == 0 {
			return &places{shared: map[string]bool{}} // counted nowhere
		}
		if out[driver] == nil {
			out[driver] = &places{shared: map[string]bool{}}
		}
		return out[driver]
	}
	for _, of := range tiedVolumes(pod) {
		switch {
		case of.Ephemeral != nil:
			take(v.ephemeralDriver(pod, of)).own++
		case of.PersistentVolumeClaim != nil:
			is := v.volumeOf(pod.Namespace + "/" + of.PersistentVolumeClaim.ClaimName)
			take(is.driver).shared[is.handle] = true
		case v.intree.IsInlineMigratable(of):
			translated, err := v.intree.TranslateInTreeInlineVolumeToCSI(klog.Background(), of, pod.Namespace)
			if err == nil && translated != nil && translated.Spec.CSI != nil {
				take(translated.Spec.CSI.Driver).shared[translated.Spec.CSI.VolumeHandle] = true
			}
		}
	}
	return out
}

// ephemeralDriver attaches the volume that is made for the pod alone. Its claim may be made later than the pod.
func (v *volumes) ephemeralDriver(pod *corev1.Pod, of *corev1.Volume) string {
	key := pod.Namespace + "/" + claimName(pod, of)
	if _, known := v.claims[key]; known || bound(pod) {
		return v.volumeOf(key).driver
	}
	if made := of.Ephemeral.VolumeClaimTemplate; made != nil && made.Spec.StorageClassName != nil {
		return v.drivers[*made.Spec.StorageClassName]
	}
	return ""
}

// limits are what the volumes of the pod count against.
func (v *volumes) limits(pod *corev1.Pod) []*tephrav1.DomainLimit {
	tied := tiedVolumes(pod)
	if len(tied) == 0 {
		return nil
	}
	var out []*tephrav1.DomainLimit
	for driver, taken := range v.places(pod) {
		limit := &tephrav1.DomainLimit{Group: volumesGroup + limitedName(driver), TopologyKey: corev1.LabelHostname, Own: taken.own}
		for _, handle := range sortedKeys(taken.shared) {
			limit.Shared = append(limit.Shared, limitedName(handle))
		}
		out = append(out, limit)
	}
	max := map[domainLimit]int32{}
	for _, one := range diskLimits(pod) {
		if before, twice := max[one.domainLimit]; !twice || one.max < before {
			max[one.domainLimit] = one.max
		}
	}
	for _, of := range tied {
		if of.PersistentVolumeClaim == nil {
			continue
		}
		if key := pod.Namespace + "/" + of.PersistentVolumeClaim.ClaimName; v.claims[key].onePod {
			max[domainLimit{claimGroup + key, clusterKey}] = 1
		}
	}
	for limit, max := range max {
		out = append(out, &tephrav1.DomainLimit{Group: limit.group, TopologyKey: limit.topologyKey, Max: max})
	}
	return out
}
