package annotations

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseVGPURegister reads the inventory that Volcano's vGPU device plugin writes: for each GPU
// "UUID,sharers,memory in MiB,type,health,mode", each followed by a colon. An error is an *Error.
func ParseVGPURegister(text string) ([]Device, error) {
	if len(text) > MaxInventoryBytes {
		return nil, &Error{VGPURegisterKey, "", fmt.Sprintf("%d bytes", len(text)),
			fmt.Sprintf("at most %d bytes", MaxInventoryBytes)}
	}
	var out []Device
	for _, entry := range strings.Split(text, ":") {
		if entry == "" {
			continue
		}
		at := fmt.Sprintf("device[%d]", len(out))
		fields := strings.Split(entry, ",")
		if len(fields) < 6 {
			return nil, &Error{VGPURegisterKey, at, shorten(entry), "UUID,count,memory,type,health,mode"}
		}
		memory, err := strconv.ParseInt(fields[2], 10, 32)
		if err != nil || memory < 1 || memory > MaxDeviceMemoryMiB {
			return nil, &Error{VGPURegisterKey, at + ".memory", shorten(fields[2]),
				fmt.Sprintf("1 to %d", MaxDeviceMemoryMiB)}
		}
		healthy, err := strconv.ParseBool(fields[4])
		if err != nil {
			return nil, &Error{VGPURegisterKey, at + ".health", shorten(fields[4]), "true or false"}
		}
		out = append(out, Device{UUID: fields[0], Model: fields[3], MemoryMiB: int32(memory), Healthy: healthy})
		if len(out) > MaxDevices {
			return nil, &Error{VGPURegisterKey, "", "more devices", fmt.Sprintf("at most %d", MaxDevices)}
		}
	}
	return out, nil
}
