package lab

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// FakeNodeAnnotation marks the nodes whose kubelet is played, with the value "fake": KWOK's own
	// custom. A node that is created by hand with it is played as well.
	FakeNodeAnnotation = "kwok.x-k8s.io/node"
	// RackLabel names the rack that a node stands in.
	RackLabel = "tephra.sh/rack"
	// InventoryAnnotation lists a node's GPUs; Tephra's node plugin writes it on real ones.
	InventoryAnnotation = "tephra.sh/gpu-inventory"
	// vgpusPerGPU is into how many slices Volcano's device plugin divides a GPU by default.
	vgpusPerGPU = 10
)

// Inventory is version 1 of what InventoryAnnotation holds, in JSON.
type Inventory struct {
	Version int      `json:"version"`
	Devices []Device `json:"devices"`
}

// Device is one GPU.
type Device struct {
	UUID      string `json:"uuid"`
	Model     string `json:"model"`
	MemoryMiB int64  `json:"memoryMiB"`
	Healthy   bool   `json:"healthy"`
	NUMA      int    `json:"numa"`
}

// RackName is the name of the rack with that index, and of its HyperNode.
func RackName(rack int) string { return fmt.Sprintf("rack-%d", rack) }

// Name of the node with that index; names sort as their indices do.
func (s NodeShape) Name(index int) string {
	return fmt.Sprintf("node-%0*d", len(strconv.Itoa(max(s.Count-1, 1))), index)
}

// Rack in which the node stands: racks are filled one after the other, as evenly as it goes.
func (s NodeShape) Rack(index int) int { return index * s.Racks / s.Count }

// Inventory of the named node: half of the GPUs on each of two sockets, ids that depend on the
// node's name and the GPU's index alone.
func (s NodeShape) Inventory(node string) Inventory {
	inventory := Inventory{Version: 1, Devices: []Device{}}
	for i := range s.GPUs {
		id := uuid.NewSHA1(uuid.NameSpaceDNS, fmt.Appendf(nil, "gpu-%d.%s.tephra.sh", i, node))
		inventory.Devices = append(inventory.Devices, Device{
			UUID: "GPU-" + id.String(), Model: s.GPUModel, MemoryMiB: s.GPUMemoryMiB, Healthy: true, NUMA: i * 2 / s.GPUs,
		})
	}
	return inventory
}

// Node is the object that a kubelet with its device plugins would register.
func (s NodeShape) Node(index int) *core.Node {
	name := s.Name(index)
	node := &core.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				core.LabelHostname:           name,
				core.LabelArchStable:         "amd64",
				core.LabelOSStable:           "linux",
				core.LabelTopologyRegion:     "lab",
				core.LabelTopologyZone:       "lab-a",
				core.LabelInstanceTypeStable: fmt.Sprintf("fake-%dgpu", s.GPUs),
				RackLabel:                    RackName(s.Rack(index)),
			},
			Annotations: map[string]string{FakeNodeAnnotation: "fake"},
		},
		Status: core.NodeStatus{
			Capacity: core.ResourceList{
				core.ResourceCPU:              *resource.NewQuantity(s.CPUs, resource.DecimalSI),
				core.ResourceMemory:           s.Memory,
				core.ResourceEphemeralStorage: resource.MustParse("1Ti"),
				core.ResourcePods:             *resource.NewQuantity(s.Pods, resource.DecimalSI),
			},
			Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionFalse, Reason: "Starting"}},
		},
	}
	if s.GPUs > 0 {
		s.addGPUs(node)
	}
	node.Status.Allocatable = node.Status.Capacity
	return node
}

func (s NodeShape) addGPUs(node *core.Node) {
	inventory, err := json.Marshal(s.Inventory(node.Name))
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	node.Annotations[InventoryAnnotation] = string(inventory)
	node.Labels["nvidia.com/gpu.product"] = "NVIDIA-" + s.GPUModel
	node.Labels["nvidia.com/gpu.memory"] = strconv.FormatInt(s.GPUMemoryMiB, 10)
	node.Labels["nvidia.com/gpu.count"] = strconv.Itoa(s.GPUs)
	gpus := int64(s.GPUs)
	for name, amount := range map[core.ResourceName]int64{
		"nvidia.com/gpu":         gpus,
		"volcano.sh/vgpu-number": gpus * vgpusPerGPU,
		"volcano.sh/vgpu-memory": gpus * s.GPUMemoryMiB,
		"volcano.sh/vgpu-cores":  gpus * 100, // percent
	} {
		node.Status.Capacity[name] = *resource.NewQuantity(amount, resource.DecimalSI)
	}
}
