package annotations

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What tephra-node writes is what this package reads, and would write itself. Its GPUs are those of the
// stand-in for NVIDIA's driver.
func TestTheNodePluginsInventoryIsReadAndWrittenAlike(t *testing.T) {
	const built = "../../../build/release/plugins/node"
	if _, err := os.Stat(built + "/tephra-node"); err != nil {
		t.Skip(err)
	}
	for preset, gpus := range map[string]int{"dgx-1": 8, "dgx-a100": 8, "hgx-h100": 8, "pcie": 8} {
		machine := filepath.Join(t.TempDir(), "machine.json")
		if err := os.WriteFile(machine, []byte(`{"preset": "`+preset+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.Command(built+"/tephra-node", "gpus", "--nvml", built+"/../../tests/tools/fake_nvml/libnvidia-ml.so.1")
		command.Env = append(os.Environ(), "TEPHRA_FAKE_NVML="+machine)
		said, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v", preset, err)
		}
		_, text, _ := strings.Cut(string(said), InventoryKey+": ")
		text, _, _ = strings.Cut(text, "\n")
		devices, wrong := ParseInventory(text)
		if wrong != nil || len(devices) != gpus {
			t.Errorf("%s: %d devices, %v, expected %d: %s", preset, len(devices), wrong, gpus, text)
			continue
		}
		if again, err := FormatInventory(devices); err != nil || again != text {
			t.Errorf("%s: written again it is\n%s, %v, expected\n%s", preset, again, err, text)
		}
	}
}
