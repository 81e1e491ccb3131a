package migrate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"tephra.sh/volcano/annotations"
)

const (
	hami        = "HAMi"
	nvidia      = "NVIDIA's device plugin"
	volcanoVGPU = "Volcano's vGPU plugin"

	hamiRegister = "hami.io/node-nvidia-register"
	wholeGPUs    = "nvidia.com/gpu"
	nvidiaDriver = "gpu.nvidia.com"

	oldestKubelet = "1.34.0"
)

// node is a node with GPUs of another stack.
type node struct {
	*corev1.Node
	stack    string
	devices  []device // of registers; of NVIDIA's plugin only their number
	replicas int64    // time slices of one GPU that count as one nvidia.com/gpu; 1: none
	wrong    string   // why the register cannot be read
	pods     int      // with GPUs
	whole    int64    // GPUs that its pods request by nvidia.com/gpu alone
}

type device struct {
	Model  string `json:"type"`
	Count  int64  `json:"count"` // pods at a time
	Memory int64  `json:"devmem"`
	Mode   string `json:"mode"`
}

func (c *check) readNodes() error {
	nodes, err := all[corev1.Node](c.Cluster, "", "Node")
	if err != nil {
		return err
	}
	stacks := map[string]*Stack{}
	for i := range nodes {
		n := read(&nodes[i])
		if n.stack == "" {
			continue
		}
		c.nodes[n.Name] = n
		stack := stacks[n.stack]
		if stack == nil {
			stack = &Stack{Name: n.stack}
			stacks[n.stack] = stack
		}
		stack.Nodes++
		stack.GPUs += len(n.devices)
	}
	for _, stack := range stacks {
		c.report.Stacks = append(c.report.Stacks, *stack)
	}
	return nil
}

// read finds which stack gives the GPUs of the node. A node of tephra-node has moved already.
func read(object *corev1.Node) *node {
	n := &node{Node: object, replicas: 1}
	if object.Labels[gpuNodeLabel] == "true" {
		if _, moved := object.Annotations[annotations.InventoryKey]; moved {
			return n
		}
	}
	if text, given := object.Annotations[hamiRegister]; given {
		n.stack = hami
		n.devices, n.wrong = parseHAMi(text)
		return n
	}
	if text, given := object.Annotations[annotations.VGPURegisterKey]; given {
		n.stack = volcanoVGPU
		found, err := annotations.ParseVGPURegister(text)
		if err != nil {
			n.wrong = err.Error()
		}
		for _, each := range found {
			n.devices = append(n.devices, device{Model: each.Model, Memory: int64(each.MemoryMiB)})
		}
		return n
	}
	count := n.offers(wholeGPUs)
	for name, amount := range object.Status.Allocatable {
		if strings.HasPrefix(string(name), "nvidia.com/mig-") && amount.Value() > 0 {
			n.stack = nvidia
		}
	}
	if count > 0 || n.offers("nvidia.com/gpu.shared") > 0 {
		n.stack = nvidia
	}
	if shared, err := strconv.ParseInt(object.Labels["nvidia.com/gpu.replicas"], 10, 32); err == nil && shared > 1 && n.offers("nvidia.com/gpu.shared") == 0 {
		n.replicas = shared
	}
	devices := count / n.replicas
	if said, err := strconv.ParseInt(object.Labels["nvidia.com/gpu.count"], 10, 32); err == nil && said > 0 {
		devices = said
	}
	memory, _ := strconv.ParseInt(object.Labels["nvidia.com/gpu.memory"], 10, 32) // 0: the node does not say
	if n.stack != "" {
		for range min(devices, annotations.MaxDevices) {
			n.devices = append(n.devices, device{Model: object.Labels["nvidia.com/gpu.product"], Memory: memory})
		}
	}
	return n
}

func (n *node) offers(name corev1.ResourceName) int64 {
	amount := n.Status.Allocatable[name]
	return amount.Value()
}

// parseHAMi reads both forms of HAMi's register: JSON, and "UUID,count,memory,cores,type,NUMA node,health:" of older releases.
func parseHAMi(text string) (out []device, wrong string) {
	if len(text) > annotations.MaxInventoryBytes {
		return nil, fmt.Sprintf("%d bytes, expected at most %d", len(text), annotations.MaxInventoryBytes)
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			return nil, err.Error()
		}
		return out, ""
	}
	for _, entry := range strings.Split(text, ":") {
		if entry == "" {
			continue
		}
		fields := strings.Split(entry, ",")
		if len(fields) < 7 {
			return nil, fmt.Sprintf("%.60q, expected UUID,count,memory,cores,type,numa,health", entry)
		}
		count, err := strconv.ParseInt(fields[1], 10, 32)
		if err != nil {
			return nil, fmt.Sprintf("count: %.60q, expected a number", fields[1])
		}
		memory, err := strconv.ParseInt(fields[2], 10, 32)
		if err != nil {
			return nil, fmt.Sprintf("memory: %.60q, expected MiB", fields[2])
		}
		each := device{Model: fields[4], Count: count, Memory: memory}
		if len(fields) >= 9 {
			each.Mode = fields[8]
		}
		out = append(out, each)
	}
	return out, ""
}

func (c *check) checkNodes() error {
	slices, err := all[resourcev1.ResourceSlice](c.Cluster, "resource.k8s.io", "ResourceSlice")
	if err != nil {
		return err
	}
	dra := map[string]bool{}
	for i := range slices {
		if slices[i].Spec.Driver == nvidiaDriver && slices[i].Spec.NodeName != nil {
			dra[*slices[i].Spec.NodeName] = true
		}
	}
	for _, n := range c.nodes {
		c.say(Change, "Node", n, fmt.Sprintf("%s gives its %s to %d pods", n.stack, n.gpus(), n.pods),
			"drain it, stop the old plugin on it, then label it "+gpuNodeLabel+"=true")
		if n.wrong != "" {
			c.say(Block, "Node", n, "its register of GPUs cannot be read: "+n.wrong, "repair the device plugin of the node")
		}
		if arch := n.Status.NodeInfo.Architecture; arch != "" && arch != "amd64" {
			c.say(Block, "Node", n, fmt.Sprintf("architecture %s, expected amd64", arch), "keep the old plugin on it")
		}
		if text := n.Status.NodeInfo.KubeletVersion; text != "" {
			if v, err := version.ParseGeneric(text); err == nil && v.LessThan(version.MustParseGeneric(oldestKubelet)) {
				c.say(Block, "Node", n, fmt.Sprintf("kubelet %s, expected %s or later", text, oldestKubelet), "upgrade the node first")
			}
		}
		if dra[n.Name] {
			c.say(Block, "Node", n, "the DRA driver "+nvidiaDriver+" gives the same GPUs to pods with ResourceClaims",
				"remove the driver from the node first")
		}
		c.checkSharing(n)
	}
	return nil
}

// checkSharing names what the plugin of the node does with GPUs and the configuration of tephra-node has to repeat.
func (c *check) checkSharing(n *node) {
	if n.replicas > 1 {
		status, do := Change, "to keep sharing, request nvidia.com/gpu.shared, and allow the mode timeSlice on the node"
		if n.whole > int64(len(n.devices)) {
			status = Block
		}
		c.say(status, "Node", n, fmt.Sprintf("%d of %s are one GPU here, and with Tephra each is a whole GPU; its pods request %d, it has %d GPUs",
			n.replicas, wholeGPUs, n.whole, len(n.devices)), do)
	}
	for name, amount := range n.Status.Allocatable {
		if strings.HasPrefix(string(name), "nvidia.com/mig-") && amount.Value() > 0 {
			c.say(Change, "Node", n, fmt.Sprintf("has %d fixed MIG instances %s", amount.Value(), name),
				"after the drain destroy the instances, and allow the mode mig in the configuration of tephra-node")
		}
	}
	label, err := strconv.ParseInt(n.Labels["nvidia.com/gpu.memory"], 10, 32)
	said := map[string]bool{}
	for _, each := range n.devices {
		if err == nil && label > 0 && each.Memory > label && !said["memory"] {
			said["memory"] = true
			c.say(Change, "Node", n, fmt.Sprintf("%s counts %d MiB of a GPU with %d MiB", n.stack, each.Memory, label),
				fmt.Sprintf("to keep that, set memory_factor: %.2f in the configuration of tephra-node", float64(each.Memory)/float64(label)))
		}
		if (each.Mode == "mig" || each.Mode == "mps") && !said[each.Mode] {
			said[each.Mode] = true
			c.say(Change, "Node", n, "shares GPUs by "+each.Mode, "allow the mode "+each.Mode+" in the configuration of tephra-node")
		}
	}
	if cordoned := n.Annotations["hami.io/device-cordon"]; cordoned != "" {
		c.say(Change, "Node", n, "HAMi gives no pod the GPUs "+cordoned, "set reserved: true for them in the configuration of tephra-node")
	}
}

func (n *node) gpus() string {
	if len(n.devices) == 0 || n.devices[0].Model == "" {
		return fmt.Sprintf("%d GPUs", len(n.devices))
	}
	return fmt.Sprintf("%d GPUs (%s, %d MiB)", len(n.devices), n.devices[0].Model, n.devices[0].Memory)
}
