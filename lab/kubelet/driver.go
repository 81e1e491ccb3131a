package kubelet

import (
	"fmt"
	"os"
	"syscall"
)

// MachineVariable names the JSON text that describes the GPUs of the stand-in for NVIDIA's driver
// (plugins/node/fake_nvml/machine.h), which the plugin then asks. Empty: it reads a file of ours.
const MachineVariable = "TEPHRA_LAB_MACHINE"

// FakeUUID is the name of a GPU of that driver.
func FakeUUID(gpu int) string { return fmt.Sprintf("GPU-7e9f0000-0000-4000-8000-%012d", gpu) }

const mostCapabilities = 256 // device files of MIG instances

// drive has the plugin ask the stand-in. What the hardware holds outlives the plugin, as with real GPUs.
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
	p.Env = append(p.Env, "TEPHRA_FAKE_NVML="+p.path("machine.json"), "TEPHRA_FAKE_NVML_STATE="+p.path("hardware"), "TEPHRA_FAKE_NVML_ROOT="+p.path("fake"))
	p.Flags = append(p.Flags, "--mig-capabilities="+p.path("fake/proc/driver/nvidia/capabilities"))
	return os.MkdirAll(p.path("fake"), 0o755)
}
