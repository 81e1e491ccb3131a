package annotations

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Device is one physical GPU of a node. Its place in the list is its index.
type Device struct {
	UUID      string // empty where the source names none
	Model     string // as the driver calls it: "NVIDIA H100 80GB HBM3"
	MemoryMiB int32
	Healthy   bool
	Sharing   Sharing
	// To each device before it. All devices of a node have theirs, or none has.
	Links []Link
	NUMA  *int16 // nil: not known, or of several NUMA nodes
}

// Sharing is how a device may be used. Its zero is how any may: whole, or in fractions without bound.
type Sharing struct {
	Modes         []Mode // that it may be in; none: Whole and Fraction
	SplitCount    int32  // fractions at a time; 0: no bound
	MPSClients    int32  // at a time; 0: 48
	Replicas      int32  // time slices at a time; 0: no bound
	ComputeFactor int32  // per mille of what there is, that fractions may ask for in all; 0: 1000
	MemoryFactor  int32
	MIGModel      string // empty: not known to be cut by MIG
}

// May: the device may be in the mode.
func (s Sharing) May(mode Mode) bool {
	if len(s.Modes) == 0 {
		return mode == Whole || mode == Fraction
	}
	return slices.Contains(s.Modes, mode)
}

type inventoryText struct {
	Version *int         `json:"version"`
	Devices []deviceText `json:"devices"`
}

type deviceText struct {
	UUID      string `json:"uuid,omitempty"`
	Model     string `json:"model"`
	MemoryMiB *int64 `json:"memoryMiB"`
	Healthy   *bool  `json:"healthy"`

	Links []string `json:"links,omitempty"`
	NUMA  *int64   `json:"numa,omitempty"`

	Modes         []Mode `json:"modes,omitempty"`
	SplitCount    int64  `json:"splitCount,omitempty"`
	MPSClients    int64  `json:"mpsClients,omitempty"`
	Replicas      int64  `json:"replicas,omitempty"`
	ComputeFactor int64  `json:"computeFactor,omitempty"`
	MemoryFactor  int64  `json:"memoryFactor,omitempty"`
	MIGModel      string `json:"migModel,omitempty"`
}

// Bounds of the engine's.
const (
	mostSharers = 10000
	noFactor    = 1000
	mostFactor  = 10000
)

// sharing reads what the text says beside the device itself.
func (t *deviceText) sharing(at string) (Sharing, *Error) {
	for _, mode := range t.Modes {
		if !slices.Contains(Modes, mode) {
			return Sharing{}, &Error{InventoryKey, at + ".modes", shorten(string(mode)),
				`"whole", "fraction", "mps", "timeSlice" or "mig"`}
		}
	}
	for _, bound := range []struct {
		field       string
		value       int64
		least, most int64
	}{
		{"splitCount", t.SplitCount, 1, mostSharers},
		{"mpsClients", t.MPSClients, 1, mostSharers},
		{"replicas", t.Replicas, 1, mostSharers},
		{"computeFactor", t.ComputeFactor, noFactor, mostFactor},
		{"memoryFactor", t.MemoryFactor, noFactor, mostFactor},
	} {
		if bound.value == 0 {
			continue
		}
		if err := checkRange(InventoryKey, at+"."+bound.field, &bound.value, bound.least, bound.most); err != nil {
			return Sharing{}, err
		}
	}
	out := Sharing{t.Modes, int32(t.SplitCount), int32(t.MPSClients), int32(t.Replicas),
		int32(t.ComputeFactor), int32(t.MemoryFactor), t.MIGModel}
	if len(t.Modes) == 0 {
		out.Modes = nil
	}
	if (t.MIGModel != "" || out.May(MIG)) && migModels[t.MIGModel] == nil {
		return Sharing{}, &Error{InventoryKey, at + ".migModel", shorten(t.MIGModel), `a model such as "A100-40GB"`}
	}
	return out, nil
}

// FormatInventory writes version 1.
func FormatInventory(devices []Device) (string, error) {
	one := version
	out := inventoryText{Version: &one, Devices: []deviceText{}}
	for _, device := range devices {
		memory, healthy := int64(device.MemoryMiB), device.Healthy
		var links []string
		for _, link := range device.Links {
			links = append(links, link.String())
		}
		var numa *int64
		if device.NUMA != nil {
			wide := int64(*device.NUMA)
			numa = &wide
		}
		s := device.Sharing
		out.Devices = append(out.Devices, deviceText{device.UUID, device.Model, &memory, &healthy, links, numa,
			s.Modes, int64(s.SplitCount), int64(s.MPSClients), int64(s.Replicas),
			int64(s.ComputeFactor), int64(s.MemoryFactor), s.MIGModel})
	}
	bytes, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("%s: %w", InventoryKey, err)
	}
	if _, err := ParseInventory(string(bytes)); err != nil {
		return "", err
	}
	return string(bytes), nil
}

// ParseInventory reads version 1. An error is an *Error.
func ParseInventory(text string) ([]Device, error) {
	var in inventoryText
	if err := decode(InventoryKey, text, MaxInventoryBytes, &in); err != nil {
		return nil, err
	}
	if err := checkVersion(InventoryKey, in.Version); err != nil {
		return nil, err
	}
	if in.Devices == nil {
		return nil, &Error{InventoryKey, "devices", "absent", "a list"}
	}
	if len(in.Devices) > MaxDevices {
		return nil, &Error{InventoryKey, "devices", strconv.Itoa(len(in.Devices)),
			fmt.Sprintf("at most %d", MaxDevices)}
	}
	out := make([]Device, 0, len(in.Devices))
	known := map[string]bool{}
	linked := len(in.Devices) > 1 && in.Devices[1].Links != nil
	if linked && len(in.Devices) > MaxLinkedDevices {
		return nil, &Error{InventoryKey, "devices", strconv.Itoa(len(in.Devices)),
			fmt.Sprintf("at most %d where links are given", MaxLinkedDevices)}
	}
	for d, device := range in.Devices {
		at := fmt.Sprintf("devices[%d]", d)
		if device.UUID != "" && known[device.UUID] {
			return nil, &Error{InventoryKey, at + ".uuid", shorten(device.UUID), "each device once"}
		}
		known[device.UUID] = true
		if err := checkRange(InventoryKey, at+".memoryMiB", device.MemoryMiB, 1, MaxDeviceMemoryMiB); err != nil {
			return nil, err
		}
		if device.Healthy == nil {
			return nil, &Error{InventoryKey, at + ".healthy", "absent", "true or false"}
		}
		sharing, err := device.sharing(at)
		if err != nil {
			return nil, err
		}
		links, numa, err := device.place(at, d, linked)
		if err != nil {
			return nil, err
		}
		out = append(out, Device{device.UUID, device.Model, int32(*device.MemoryMiB), *device.Healthy, sharing,
			links, numa})
	}
	return out, nil
}
