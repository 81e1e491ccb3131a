package lab_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"tephra.sh/lab"
)

func TestRacksAreFilledInOrderAndEvenly(t *testing.T) {
	for _, shape := range []lab.NodeShape{{Count: 16, Racks: 2}, {Count: 7, Racks: 3}, {Count: 1, Racks: 1}, {Count: 1000, Racks: 20}} {
		size := make([]int, shape.Racks)
		names := []string{}
		last := 0
		for i := range shape.Count {
			rack := shape.Rack(i)
			if rack < last {
				t.Errorf("%d nodes, %d racks: node %d stands in rack %d after rack %d", shape.Count, shape.Racks, i, rack, last)
			}
			last = rack
			size[rack]++
			names = append(names, shape.Name(i))
		}
		if slices.Max(size)-slices.Min(size) > 1 {
			t.Errorf("%d nodes, %d racks: sizes %v differ by more than one", shape.Count, shape.Racks, size)
		}
		if !slices.IsSorted(names) {
			t.Errorf("%d nodes: names do not sort as their indices do", shape.Count)
		}
	}
}

func TestANodesInventoryDependsOnItsNameAlone(t *testing.T) {
	shape := lab.Defaults().Nodes
	more := shape
	more.Racks = 4
	if !reflect.DeepEqual(shape.Inventory("node-03"), more.Inventory("node-03")) {
		t.Error("the same node has other devices in a lab of other racks")
	}
	seen := map[string]bool{}
	for i := range shape.Count {
		for _, device := range shape.Inventory(shape.Name(i)).Devices {
			seen[device.UUID] = true
		}
	}
	if len(seen) != shape.Count*shape.GPUs {
		t.Errorf("%d different ids for %d GPUs", len(seen), shape.Count*shape.GPUs)
	}
}

func TestANodeOffersTheGPUsOfItsInventory(t *testing.T) {
	node := lab.Defaults().Nodes.Node(3)
	var inventory lab.Inventory
	if err := json.Unmarshal([]byte(node.Annotations[lab.InventoryAnnotation]), &inventory); err != nil {
		t.Fatal(err)
	}
	gpus := node.Status.Allocatable["nvidia.com/gpu"]
	if inventory.Version != 1 || int64(len(inventory.Devices)) != gpus.Value() {
		t.Errorf("version %d with %d devices, expected 1 with %s", inventory.Version, len(inventory.Devices), gpus.String())
	}
	if first, last := inventory.Devices[0], inventory.Devices[7]; first.NUMA != 0 || last.NUMA != 1 {
		t.Errorf("first on NUMA node %d, last on %d, expected 0 and 1", first.NUMA, last.NUMA)
	}
	withoutGPUs := lab.NodeShape{Count: 1, Racks: 1, CPUs: 4, Pods: 10}.Node(0)
	if _, found := withoutGPUs.Annotations[lab.InventoryAnnotation]; found {
		t.Error("a node without GPUs has an inventory")
	}
}

func TestAQueueIsNamedWithOrWithoutAWeight(t *testing.T) {
	for text, expected := range map[string]lab.Queue{"research": {Name: "research", Weight: 1}, "production=3": {Name: "production", Weight: 3}} {
		if queue, err := lab.ParseQueue(text); err != nil || queue != expected {
			t.Errorf("%q: %v, %v", text, queue, err)
		}
	}
	for _, text := range []string{"a=", "a=0", "a=-1", "a=many", "a=9999999999"} {
		if queue, err := lab.ParseQueue(text); err == nil {
			t.Errorf("%q was read as %v", text, queue)
		}
	}
}
