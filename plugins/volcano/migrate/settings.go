package migrate

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/requests"
)

// Images of device plugins, by their stack.
var pluginImages = []struct{ image, stack string }{
	{"volcano-vgpu-device-plugin", volcanoVGPU}, {"projecthami/hami", hami}, {"k8s-device-plugin", nvidia},
}

// checkDaemonSets names the device plugins that have to leave a node before tephra-node comes.
func (c *check) checkDaemonSets() error {
	sets, err := all[appsv1.DaemonSet](c.Cluster, "apps", "DaemonSet")
	if err != nil {
		return err
	}
	for i := range sets {
		set := &sets[i]
		stack := ""
		for _, container := range set.Spec.Template.Spec.Containers {
			for _, each := range pluginImages {
				if stack == "" && strings.Contains(container.Image, each.image) {
					stack = each.stack
				}
			}
		}
		if stack == "" {
			continue
		}
		do := "keep it off nodes with the label " + gpuNodeLabel + " by a node affinity"
		switch {
		case len(set.OwnerReferences) > 0 && set.OwnerReferences[0].Kind == "ClusterPolicy":
			do = "label each node nvidia.com/gpu.deploy.device-plugin=false when it moves"
		case set.Spec.Template.Spec.NodeSelector["gpu"] == "on":
			do = "remove the label gpu=on of each node when it moves"
		}
		c.say(Change, "DaemonSet", set, "is "+stack+"; beside tephra-node it would give a GPU twice", do)
		for p := range c.pods {
			pod := &c.pods[p]
			owner := pod.OwnerReferences
			if live(pod) && pod.Namespace == set.Namespace && len(owner) > 0 && owner[0].Kind == "DaemonSet" && owner[0].Name == set.Name && c.labelled(pod.Spec.NodeName) {
				c.say(Block, "DaemonSet", set, "its pod "+pod.Name+" is on "+pod.Spec.NodeName+", which has the label "+gpuNodeLabel+"=true", do)
			}
		}
	}
	return nil
}

// labelled: the node is one of tephra-node.
func (c *check) labelled(name string) bool {
	for _, node := range c.objects[schema.GroupKind{Kind: "Node"}] {
		if node.GetName() == name {
			return node.GetLabels()[gpuNodeLabel] == "true"
		}
	}
	return false
}

func (c *check) checkWebhooks() error {
	found, err := all[admissionv1.MutatingWebhookConfiguration](c.Cluster, "admissionregistration.k8s.io", "MutatingWebhookConfiguration")
	if err != nil {
		return err
	}
	for i := range found {
		for _, webhook := range found[i].Webhooks {
			service := webhook.ClientConfig.Service
			if strings.Contains(found[i].Name, "hami") || service != nil && strings.Contains(service.Name, "hami") {
				c.say(Change, "MutatingWebhookConfiguration", &found[i], "gives pods with GPUs and no scheduler to HAMi, before Tephra sees them",
					"name Tephra's scheduler in each template until HAMi is removed")
				break
			}
		}
	}
	return nil
}

// Plugins of Volcano's scheduler with a rule that pods rely on, and plugins that only prefer.
var (
	lostRules       = []string{"extender", "nodegroup", "numaaware", "resourcequota", "tdm"}
	lostPreferences = []string{"rescheduling", "resource-strategy-fit", "sla", "task-topology", "usage"}
)

func (c *check) checkSettings() error {
	maps, err := all[corev1.ConfigMap](c.Cluster, "", "ConfigMap")
	if err != nil {
		return err
	}
	for i := range maps {
		config := &maps[i]
		switch config.Name {
		case volcanoSchedulerConfig:
			for _, text := range config.Data {
				c.checkPlugins(config, text)
			}
		case hamiConfig, volcanoVGPUConfig:
			for _, text := range config.Data {
				c.checkDeviceConfig(config, text)
			}
		}
	}
	return nil
}

func (c *check) checkPlugins(config *corev1.ConfigMap, text string) {
	var scheduler struct {
		Tiers []struct {
			Plugins []struct {
				Name string `json:"name"`
			} `json:"plugins"`
		} `json:"tiers"`
	}
	if err := yaml.Unmarshal([]byte(text), &scheduler); err != nil {
		c.say(Block, "ConfigMap", config, "cannot be read: "+err.Error(), "repair it")
		return
	}
	for _, tier := range scheduler.Tiers {
		for _, plugin := range tier.Plugins {
			switch {
			case slices.Contains(lostRules, plugin.Name):
				c.say(Block, "ConfigMap", config, "Volcano's plugin "+plugin.Name+" enforces a rule that Tephra does not have",
					"remove the plugin, and replace its rule by node selectors, taints or quotas")
			case slices.Contains(lostPreferences, plugin.Name):
				c.say(Change, "ConfigMap", config, "Volcano's plugin "+plugin.Name+" has no effect with Tephra", "nothing, if that is meant")
			}
		}
	}
}

// checkDeviceConfig compares the words of HAMi or Volcano with the table.
func (c *check) checkDeviceConfig(config *corev1.ConfigMap, text string) {
	var devices struct {
		NVIDIA *requests.Language `json:"nvidia"`
	}
	if err := yaml.Unmarshal([]byte(text), &devices); err != nil {
		c.say(Block, "ConfigMap", config, "cannot be read: "+err.Error(), "repair it")
		return
	}
	if devices.NVIDIA == nil {
		return
	}
	var names []string
	var nearest *requests.Language
	for v := range c.table.Vendors {
		for l := range c.table.Vendors[v].Languages {
			language := &c.table.Vendors[v].Languages[l]
			names = append(names, language.Count)
			if language.Count == devices.NVIDIA.Count {
				nearest = language
			}
		}
	}
	do := "give Tephra a table with this value by --device-resources"
	if nearest == nil {
		c.say(Block, "ConfigMap", config, fmt.Sprintf("nvidia.resourceCountName: %q, expected one of %s", devices.NVIDIA.Count, strings.Join(names, ", ")), do)
		return
	}
	differ := func(field string, theirs, ours any) {
		if theirs != ours {
			c.say(Block, "ConfigMap", config, fmt.Sprintf("nvidia.%s: %v, expected %v: Tephra would read requests differently", field, theirs, ours), do)
		}
	}
	theirs := devices.NVIDIA
	differ("resourceMemoryName", theirs.Memory, nearest.Memory)
	differ("resourceMemoryPercentageName", theirs.MemoryPercentage, nearest.MemoryPercentage)
	differ("resourceCoreName", theirs.Cores, nearest.Cores)
	differ("memoryFactor", max(theirs.MemoryFactor, 1), max(nearest.MemoryFactor, 1))
	differ("defaultMemory", theirs.DefaultMemory, nearest.DefaultMemory)
	differ("defaultCores", theirs.DefaultCores, nearest.DefaultCores)
	differ("defaultGPUNum", theirs.DefaultCount, nearest.DefaultCount)
}

func (c *check) checkQueues() error {
	queues, err := all[volcano.Queue](c.Cluster, volcanoQueues, "Queue")
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range queues {
		names[queues[i].Name] = true
		if queues[i].Spec.Affinity != nil {
			c.say(Block, "Queue", &queues[i], "spec.affinity ties it to groups of nodes, a rule that Tephra does not have",
				"use node selectors in its jobs")
		}
	}
	for _, queue := range c.objects[schema.GroupKind{Group: kaiGroup, Kind: "Queue"}] {
		if !names[queue.GetName()] {
			c.say(Change, "Queue", &queue, "is KAI's, and Volcano has no queue of this name", "create it for Volcano: "+volcanoQueue(&queue))
		}
	}
	return nil
}

// volcanoQueue is KAI's queue in the words of Volcano's.
func volcanoQueue(queue *unstructured.Unstructured) string {
	number := func(field string) (float64, bool) {
		value, given, err := unstructured.NestedFieldNoCopy(queue.Object, "spec", "resources", "gpu", field)
		if !given || err != nil {
			return 0, false
		}
		switch n := value.(type) {
		case int64:
			return float64(n), true
		case float64:
			return n, true
		}
		return 0, false
	}
	parts := []string{"weight: 1"}
	if weight, given := number("overQuotaWeight"); given && weight >= 1 {
		parts[0] = fmt.Sprintf("weight: %.0f", weight)
	}
	if parent, _, _ := unstructured.NestedString(queue.Object, "spec", "parentQueue"); parent != "" {
		parts = append(parts, "parent: "+parent)
	}
	if quota, given := number("quota"); given && quota > 0 {
		parts = append(parts, fmt.Sprintf("deserved: {nvidia.com/gpu: %g}", quota))
	}
	if limit, given := number("limit"); given && limit >= 0 {
		parts = append(parts, fmt.Sprintf("capability: {nvidia.com/gpu: %g}", limit))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
