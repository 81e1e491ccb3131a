package kubelet

import (
	"fmt"
	"os"
	"syscall"
)

// MachineVariable names the variable with the JSON text that describes the GPUs of the fake of NVIDIA's library
// (tests/tools/fake_nvml/machine.h), which the plugin then uses. Empty: the plugin reads a file of ours.
const MachineVariable = "TEPHRA_LAB_MACHINE"

// FakeUUID is the name of a GPU of that driver.
func FakeUUID(gpu int) string { return fmt.Sprintf("GPU-7e9f0000-0000-4000-8000-%012d", gpu) }

const mostCapabilities = 256 // device files of MIG instances

// Control sets what goes wrong on the machine, as tests/tools/fake_nvml/control.h says.
func (p *Plugin) Control(text string) error {
	if err := os.WriteFile(p.path("control.new"), []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(p.path("control.new"), p.path("control.json"))
}

// drive has the plugin use the fake library. What the hardware holds outlives the plugin, as with real GPUs.
func (p *Plugin) drive(machine, library string) error {
	p.Driver = library
	if err := os.WriteFile(p.path("machine.json"), []byte(machine), 0o600); err != nil {
		return err
	}
	if err := os.MkdirAll(p.path("root/dev/nvidia-caps"), 0o755); err != nil {
		return err
	}
	for minor := range mostCapabilities {
		if err := syscall.Mkfifo(p.path("root/dev/nvidia-caps", fmt.Sprintf("nvidia-cap%d", minor)), 0o600); err != nil {
			return err
		}
	}
	p.Env = append(p.Env, "TEPHRA_FAKE_NVML="+p.path("machine.json"), "TEPHRA_FAKE_NVML_STATE="+p.path("hardware"), "TEPHRA_FAKE_NVML_ROOT="+p.path("fake"), "TEPHRA_FAKE_NVML_CONTROL="+p.path("control.json"))
	p.Flags = append(p.Flags, "--mig-capabilities="+p.path("fake/proc/driver/nvidia/capabilities"))
	return os.MkdirAll(p.path("fake"), 0o755)
}
