package annotations

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Device is one physical GPU of a node. Its place in the list is its index.
type Device struct {
	UUID      string // empty where the source names none
	Model     string // as the driver calls it: "NVIDIA H100 80GB HBM3"
	MemoryMiB int32
	Healthy   bool
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
}

// FormatInventory writes version 1.
func FormatInventory(devices []Device) (string, error) {
	one := version
	out := inventoryText{Version: &one, Devices: []deviceText{}}
	for _, device := range devices {
		memory, healthy := int64(device.MemoryMiB), device.Healthy
		out.Devices = append(out.Devices, deviceText{device.UUID, device.Model, &memory, &healthy})
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
		out = append(out, Device{device.UUID, device.Model, int32(*device.MemoryMiB), *device.Healthy})
	}
	return out, nil
}
