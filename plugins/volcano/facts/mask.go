package facts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
)

// onlyGoCanJudge: some demand of the pod is one that the engine has no words for, so that
// Volcano's own predicates must say which nodes are out of the question.
func onlyGoCanJudge(pod *corev1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAffinity != nil &&
		len(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		return true
	}
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, spreadIsRequired) ||
		len(tiedVolumes(pod)) > 0
}

func spreadIsRequired(constraint corev1.TopologySpreadConstraint) bool {
	return constraint.WhenUnsatisfiable == corev1.DoNotSchedule
}

// volumeTiesToNodes: where the volume is, or how many of its kind a node can have, limits where
// the pod can be.
func volumeTiesToNodes(volume *corev1.Volume) bool {
	return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil || volume.CSI != nil ||
		volume.GCEPersistentDisk != nil || volume.AWSElasticBlockStore != nil ||
		volume.AzureDisk != nil || volume.ISCSI != nil || volume.RBD != nil
}

// maskName is one name for all pods that Volcano's predicates cannot tell apart.
func maskName(pod *corev1.Pod) string {
	judged := struct {
		Namespace   string
		Labels      map[string]string
		Selector    map[string]string
		Affinity    *corev1.Affinity
		Tolerations []corev1.Toleration
		Spread      []corev1.TopologySpreadConstraint
		Claims      []corev1.PodResourceClaim
		Volumes     []corev1.VolumeSource
		Requests    []corev1.ResourceRequirements
		Ports       [][]corev1.ContainerPort
		Models      [2]string
	}{
		Namespace: pod.Namespace, Labels: sharedLabels(pod), Selector: pod.Spec.NodeSelector,
		Affinity: pod.Spec.Affinity, Tolerations: pod.Spec.Tolerations,
		Spread: pod.Spec.TopologySpreadConstraints, Claims: pod.Spec.ResourceClaims,
		Models: [2]string{pod.Annotations[useModels], pod.Annotations[avoidModels]},
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		judged.Requests = append(judged.Requests, container.Resources)
		judged.Ports = append(judged.Ports, container.Ports)
	}
	for _, volume := range tiedVolumes(pod) {
		judged.Volumes = append(judged.Volumes, volume.VolumeSource)
	}
	text, err := json.Marshal(judged)
	if err != nil {
		panic(err) // plain API types
	}
	sum := sha256.Sum256(text)
	return "pods-" + hex.EncodeToString(sum[:12])
}

func mustMarshal(message proto.Message) []byte {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		panic(err) // only text that is not UTF-8 fails, and the API server lets none in
	}
	return bytes
}

// MaskedClass is a class of equal pods that names a mask.
type MaskedClass struct {
	Name string
	// One of them: a pod that waits, or where none exists yet one as its Job will make it, which
	// then has no UID.
	Example *corev1.Pod
}

// noteMasks notes whether the group is one of those in which masks are looked for.
func (f *Feed) noteMasks(g *group) {
	for _, p := range g.pods {
		if p.shape != nil && p.shape.mask != "" {
			f.masked[g] = true
			return
		}
	}
	for _, made := range g.templates {
		if made.shape != nil && made.shape.mask != "" {
			f.masked[g] = true
			return
		}
	}
	delete(f.masked, g)
}

// MaskedClasses are those of which some pod waits for a node, by name: whose masks are to be
// evaluated.
func (f *Feed) MaskedClasses() []MaskedClass {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settleAll()
	if len(f.masked) == 0 && len(f.lateForMasks) == 0 {
		return nil
	}
	examples := map[string]*corev1.Pod{}
	offer := func(pod *corev1.Pod, shape *shape) {
		if shape == nil || shape.mask == "" {
			return
		}
		best := examples[shape.mask]
		if best == nil || pod.UID != "" && (best.UID == "" || pod.Name < best.Name) {
			examples[shape.mask] = pod
		}
	}
	for group := range f.masked {
		for _, p := range group.pods {
			if asks(p.obj) && p.handed == nil && group.roles != nil {
				offer(p.obj, p.shape)
			}
		}
		for _, made := range group.templates {
			offer(made.pod, made.shape)
		}
	}
	var out []MaskedClass
	byNamespace := map[string][]MaskedClass{} // of pods that exist: a template is not judged
	for _, name := range sortedKeys(examples) {
		class := MaskedClass{name, examples[name]}
		if class.Example.UID == "" {
			out = append(out, class)
			continue
		}
		byNamespace[class.Example.Namespace] = append(byNamespace[class.Example.Namespace], class)
	}
	late := map[string]bool{}
	for _, namespace := range sortedKeys(byNamespace) {
		classes := byNamespace[namespace]
		slices.SortStableFunc(classes, f.compareClasses)
		for _, class := range classes[min(len(classes), mostMasks):] {
			late[string(class.Example.UID)] = true
			f.note(f.pods[string(class.Example.UID)].object(), masksAspect, "", &fault{"spec",
				fmt.Sprintf("%d kinds of pods of the namespace wait that differ in volumes, claims, affinities or spread", len(classes)),
				fmt.Sprintf("at most %d kinds; the scheduler looks at this pod when some of the pods before it have started", mostMasks)})
		}
		out = append(out, classes[:min(len(classes), mostMasks)]...)
	}
	for uid := range f.lateForMasks {
		if p := f.pods[uid]; p != nil && !late[uid] {
			f.note(p.object(), masksAspect, "", nil)
		}
	}
	f.lateForMasks = late
	slices.SortFunc(out, func(a, b MaskedClass) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// masksAspect is the aspect of a pod's problems under which it stands that no mask is made for the pod.
const masksAspect = "masks"

// compareClasses puts classes that have a mask first, then classes with an older example.
func (f *Feed) compareClasses(a, b MaskedClass) int {
	rank := func(class MaskedClass) int {
		if _, known := f.masks[class.Name]; known {
			return 0
		}
		return 1
	}
	return cmp.Or(rank(a)-rank(b), a.Example.CreationTimestamp.Compare(b.Example.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// SetMask states the nodes that are out of the question for the class.
func (f *Feed) SetMask(name string, excluded []string) {
	nodes := slices.Compact(slices.Sorted(slices.Values(excluded)))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.masks[name] = nodes
	f.tellMasks.touch(name)
}
