package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/tephrav1"
)

type diskLimit struct {
	domainLimit
	max int32
}

// diskLimits are of in-tree disks, which two pods of a node may have only if both read them (Kubernetes' plugin
// VolumeRestrictions). An RBD image is the same one for two pods if they name a common monitor, so each monitor has a
// limit. Volcano's predicates do not check disks.
func diskLimits(pod *corev1.Pod) (out []diskLimit) {
	add := func(disk string, readOnly bool) {
		limit := diskLimit{domainLimit{diskGroup + limitedName(disk), corev1.LabelHostname}, 1}
		if readOnly {
			limit.max = math.MaxInt32
		}
		if len(out) <= mostDisks { // one more tells that there are too many
			out = append(out, limit)
		}
	}
	for _, of := range tiedVolumes(pod) {
		switch {
		case of.GCEPersistentDisk != nil:
			add("gce/"+of.GCEPersistentDisk.PDName, of.GCEPersistentDisk.ReadOnly)
		case of.AWSElasticBlockStore != nil:
			add("aws/"+of.AWSElasticBlockStore.VolumeID, false)
		case of.ISCSI != nil:
			add("iscsi/"+of.ISCSI.IQN, of.ISCSI.ReadOnly)
		case of.RBD != nil:
			for _, monitor := range of.RBD.CephMonitors {
				add("rbd/"+monitor+"/"+of.RBD.RBDPool+"/"+of.RBD.RBDImage, of.RBD.ReadOnly)
			}
		}
	}
	return out
}

// limitedName is the name, or a shorter one that no other name has: users choose how long names are.
func limitedName(name string) string {
	const most = 256
	if len(name) <= most {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:most-2*len(sum)-1], "") + " " + hex.EncodeToString(sum[:])
}

// --- limits of nodes -----------------------------------------------------------------------

// nodeLimits are how many volumes of each driver the node has room for, beside volumes that are still attached although
// no pod of the node uses them: their pods ended a moment ago, or they are attached by hand.
func (f *Feed) nodeLimits(name string) []*tephrav1.NodeLimit {
	v := &f.translator.volumes
	limits := v.nodes[name]
	if len(limits) == 0 {
		return nil
	}
	left := map[volume]bool{}
	for key := range v.onNode[name] {
		is := v.attached[key]
		if of := v.persisted[is.volume]; of.handle != "" && !of.inTree { // Kubernetes does not count attachments of the others
			left[volume{is.driver, of.handle}] = true
		}
	}
	if n := f.nodes[name]; n != nil && len(left) > 0 {
		for p := range n.pods {
			if ended(p.obj) {
				continue
			}
			for _, key := range claimsUsed(p.obj) {
				delete(left, v.volumeOf(key))
			}
			for driver, taken := range v.places(p.obj) { // volumes without a claim, too
				for handle := range taken.shared {
					delete(left, volume{driver, handle})
				}
			}
		}
	}
	unused := map[string]int32{}
	for is := range left {
		unused[is.driver]++
	}
	var out []*tephrav1.NodeLimit
	for _, driver := range sortedKeys(limits) {
		out = append(out, &tephrav1.NodeLimit{Group: volumesGroup + limitedName(driver), Places: max(0, limits[driver]-unused[driver])})
	}
	return out
}

// settleVolumes reads again the pods and nodes of which volumes have changed.
func (f *Feed) settleVolumes() {
	v := &f.translator.volumes
	for p := range v.changes {
		if p.group != nil {
			f.reshape(p)
		}
		p.load = nil
		f.tellTasks.touch(p.uid)
		f.volumesMoved(p)
	}
	clear(v.changes)
	if v.changed {
		v.changed = false
		for _, g := range f.groups {
			if slices.ContainsFunc(g.templates, func(m made) bool { return len(tiedVolumes(m.pod)) > 0 }) {
				f.dirtyGroups[g] = true
			}
		}
	}
	for n := range f.dirtyLimits {
		if n.obj != nil {
			f.readNode(n)
		}
	}
	clear(f.dirtyLimits)
}

// volumesMoved: the pod may be the first or the last one of its node that uses a volume.
func (f *Feed) volumesMoved(p *pod) {
	if name := p.obj.Spec.NodeName; len(f.translator.volumes.onNode[name]) > 0 && len(tiedVolumes(p.obj)) > 0 {
		f.limitsOfNodeChanged(name)
	}
}

// limitsOfNodeChanged: the node may have more places for volumes, or fewer.
func (f *Feed) limitsOfNodeChanged(name string) {
	if n := f.nodes[name]; n != nil && n.obj != nil {
		f.dirtyLimits[n] = true
	}
}
