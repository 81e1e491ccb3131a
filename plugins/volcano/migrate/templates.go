package migrate

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tephra.sh/volcano/admission"
	"tephra.sh/volcano/requests"
)

// What KAI reads on pods and workloads.
const (
	kaiQueue    = "kai.scheduler/queue"
	kaiOldQueue = "runai/queue"
	kaiGroupKey = "pod-group-name"
	ownQueue    = "scheduling.volcano.sh/queue-name"
	ownGroup    = "scheduling.k8s.io/group-name"
)

var kaiTopology = []string{"kai.scheduler/topology", "kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement"}

// cutting is a cluster whose GPUs may be shared in every way.
var cutting = &requests.Cluster{Cuts: func(string) bool { return true }, Serves: func() bool { return true }, TimeSlice: func() int32 { return 500 }}

// checkWorkloads says what becomes of each template, each fact once for an object.
func (c *check) checkWorkloads() error {
	minimums, err := c.kaiMinimums()
	if err != nil {
		return err
	}
	for _, w := range c.workloads {
		said := map[Finding]bool{}
		say := func(status Status, what, do string) {
			finding := Finding{status, w.kind, w.Namespace, w.Name, what, do}
			if !said[finding] {
				said[finding] = true
				c.report.Findings = append(c.report.Findings, finding)
			}
		}
		gpus := false
		for i := range w.templates {
			gpus = c.checkTemplate(&w.templates[i], w, say) || gpus
		}
		if !gpus {
			continue
		}
		if w.bare {
			say(Block, "has no controller, so a drain deletes it for good", "let it end, or delete it; create it again for Tephra")
		}
		for _, pod := range w.pods {
			group := pod.Annotations[kaiGroupKey]
			least := minimums[ref{"PodGroup", pod.Namespace, group}]
			if group != "" && least > 1 && w.kind != volcanoJob && pod.Annotations[ownGroup] == "" {
				say(Block, fmt.Sprintf("KAI starts %d of its pods together; without a PodGroup of Volcano, Tephra starts each alone", least),
					fmt.Sprintf("make it a Volcano Job with minAvailable: %d, or make a PodGroup and name it in the annotation %s", least, ownGroup))
			}
		}
	}
	return nil
}

// checkTemplate tells whether the pods of the template move.
func (c *check) checkTemplate(pod *corev1.Pod, w *workload, say func(Status, string, string)) bool {
	gpus := c.requestsGPUs(pod)
	if container := c.visible(pod); container != "" && (gpus || c.mode == Replace) && c.namespaces[pod.Namespace]["tephra.sh/visible-devices"] != "any" {
		say(Block, "container "+container+" sets NVIDIA_VISIBLE_DEVICES, which the policy visible-devices.tephra.sh refuses",
			"remove the variable, or label the namespace tephra.sh/visible-devices=any")
	}
	if !gpus && !replaced(pod.Spec.SchedulerName) {
		return false
	}
	if gpus {
		target := *pod
		target.Spec.SchedulerName, target.Spec.NodeName = c.mode.scheduler(), ""
		if wrong := c.reader.Check(&target); wrong != nil {
			say(Block, "Tephra refuses its request: "+admission.Sentence("", wrong), "change the request")
		}
	}
	if name := pod.Spec.NodeName; name != "" {
		say(Block, "spec.nodeName: "+name+" passes every scheduler by", "use a nodeSelector")
	}
	c.checkScheduler(pod, gpus, say)
	if key := c.annotated(pod); key != "" {
		say(Change, "the annotation "+key+" also reserves compute with Tephra, or holds the memory limit", "nothing, if that is meant")
	}
	queue := cmp.Or(pod.Labels[kaiQueue], pod.Labels[kaiOldQueue], w.Labels[kaiQueue], w.Labels[kaiOldQueue])
	if queue != "" && pod.Annotations[ownQueue] == "" && w.kind != volcanoJob {
		say(Change, "is in KAI's queue "+queue, "set the annotation "+ownQueue+": "+queue+" in the template")
	}
	for _, key := range kaiTopology {
		if value := cmp.Or(pod.Annotations[key], w.Annotations[key]); value != "" {
			say(Change, key+": "+value+" has no effect with Tephra", "set networkTopology in its PodGroup")
		}
	}
	return gpus
}

func (c *check) checkScheduler(pod *corev1.Pod, gpus bool, say func(Status, string, string)) {
	name := cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
	what := "its scheduler is " + name
	if c.mode == Beside {
		if name != "tephra" {
			do := "set schedulerName: tephra"
			if gpus {
				do += ", nodeSelector " + schedulerLabel + ": tephra, and a toleration of that taint"
			}
			say(Change, what, do)
		}
		return
	}
	switch {
	case name == "volcano":
	case name != corev1.DefaultSchedulerName:
		say(Change, what, "set schedulerName: volcano")
	case gpus && c.whole(pod) > 0:
		say(Change, what+", which finds no nvidia.com/gpu on nodes of tephra-node", "set schedulerName: volcano, or give tephra-admission --take=all")
	}
}

// visible is the container that shows itself GPUs by NVIDIA_VISIBLE_DEVICES; empty: none does.
func (c *check) visible(pod *corev1.Pod) string {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range list {
			for _, variable := range container.Env {
				if variable.Name == "NVIDIA_VISIBLE_DEVICES" &&
					(variable.ValueFrom != nil || !slices.Contains([]string{"", "none", "void"}, variable.Value)) {
					return container.Name
				}
			}
		}
	}
	return ""
}

// kaiMinimums are the minimums of KAI's PodGroups.
func (c *check) kaiMinimums() (map[ref]int64, error) {
	out := map[ref]int64{}
	for _, group := range c.objects[schema.GroupKind{Group: kaiGroup, Kind: "PodGroup"}] {
		least, _, err := unstructured.NestedInt64(group.Object, "spec", "minMember")
		if err != nil {
			return nil, fmt.Errorf("PodGroup %s/%s: %w", group.GetNamespace(), group.GetName(), err)
		}
		out[ref{"PodGroup", group.GetNamespace(), group.GetName()}] = least
	}
	return out, nil
}
