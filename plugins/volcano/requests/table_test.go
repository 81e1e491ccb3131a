package requests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const small = `vendors:
- name: NVIDIA
  cut: true
  devices: [nvidia.com/gpu]
  languages:
  - name: HAMi
    resourceCountName: %COUNT
    resourceMemoryName: example.com/mem
    resourceMemoryPercentageName: example.com/mempercent
    resourceCoreName: example.com/cores
    %DEFAULTS
`

func smallTable(t *testing.T, count, defaults string) *Table {
	t.Helper()
	table, err := Parse([]byte(strings.NewReplacer("%COUNT", count, "%DEFAULTS", defaults).Replace(small)))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestNamesUnitsAndDefaultsAreTheTables(t *testing.T) {
	for _, test := range []struct {
		count, defaults, asks string
		want                  Ask
	}{
		{"example.com/vgpu", "defaultGPUNum: 1", "example.com/mem=5", Ask{Count: 1, MemoryMiB: 5}},
		{"example.com/vgpu", "defaultGPUNum: 3", "example.com/mem=5", Ask{Count: 3, MemoryMiB: 5}},
		{"example.com/vgpu", "memoryFactor: 10", "example.com/vgpu=1 example.com/mem=5", Ask{Count: 1, MemoryMiB: 50}},
		{"example.com/vgpu", "defaultMemory: 5000", "example.com/vgpu=1", Ask{Count: 1, MemoryMiB: 5000}},
		{"example.com/vgpu", "defaultMemory: 5000\n    memoryFactor: 2", "example.com/vgpu=1 example.com/cores=20",
			Ask{Count: 1, Compute: 200, MemoryMiB: 10000}},
		{"example.com/vgpu", "defaultMemory: 5000", "example.com/vgpu=1 example.com/mempercent=20", Ask{Count: 1, MemoryPerMille: 200}},
		{"example.com/vgpu", "defaultCores: 20", "example.com/vgpu=1 example.com/mem=5", Ask{Count: 1, Compute: 200, MemoryMiB: 5}},
		{"example.com/vgpu", "defaultCores: 20", "example.com/vgpu=1 example.com/mem=5 example.com/cores=0", Ask{Count: 1, MemoryMiB: 5}},
		{"example.com/vgpu", "defaultCores: 100", "example.com/vgpu=1 example.com/mem=5", Ask{Count: 1, Compute: 1000, MemoryMiB: 5}},
		{"example.com/vgpu", "defaultCores: 20", "example.com/vgpu=1", Ask{Count: 1, Compute: 1000}},
		// Whole GPUs are still asked for where the language counts by another name.
		{"example.com/vgpu", "defaultMemory: 5000", "nvidia.com/gpu=2", Ask{Count: 2, Compute: 1000}},
		{"nvidia.com/gpu", "defaultMemory: 5000", "nvidia.com/gpu=2", Ask{Count: 2, MemoryMiB: 5000}},
		{"example.com/vgpu", "defaultMemory: 5000", "nvidia.com/gpumem=2", Ask{}}, // no word of this table
	} {
		table := smallTable(t, test.count, test.defaults)
		got, wrong := table.Containers(podOf(nil, asking("main", test.asks)), nowhere)
		if wrong != nil || amounts(got[0]) != test.want {
			t.Errorf("%s, %s: got %+v, %+v", test.defaults, test.asks, got, wrong)
		}
	}
	table := smallTable(t, "example.com/vgpu", "defaultGPUNum: 0")
	_, wrong := table.Containers(podOf(nil, asking("main", "example.com/mem=5")), nowhere)
	if !refusedWith(wrong, "spec.containers[0].resources.limits[example.com/mem]: 5, expected none without example.com/vgpu") {
		t.Errorf("parts of no device: got %+v", wrong)
	}
	_, wrong = table.Containers(podOf(nil, asking("main", "nvidia.com/gpu=1 example.com/vgpu=1")), nowhere)
	if !refusedWith(wrong, "spec.containers[0].resources.limits[example.com/vgpu]: 1, expected none beside nvidia.com/gpu") {
		t.Errorf("both: got %+v", wrong)
	}
}

func TestATableThatCannotBeReadIsRefusedWithItsField(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"vendors: []", "vendors: 0 with cut, expected one"},
		{"colours: []", `unknown field "colours"`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c], colour: red}]", `unknown field "colour"`},
		{"vendors: [{name: A, cut: true, cut: true}]", `key "cut" already set`},
		{"vendors: [{name: A, cut: true}]", "vendors[0]: expected a name, and resources in devices"},
		{"vendors: [{name: A, cut: true, devices: [gpu]}]", `vendors[0].devices: "gpu", expected a name with a domain`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c*]}]", `vendors[0].devices: "a.b/c*", expected one name`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c, a.b/c]}]", ""},
		{"vendors: [{name: A, cut: true, devices: [a.b/c], aside: [a.b/c]}]", `vendors[0].aside: "a.b/c", expected each name once`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c], refused: [{resources: ['a.b/[']}]}]", `vendors[0].refused[0]: "a.b/[": syntax error`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c]}, {name: B, cut: true, devices: [a.b/d]}]", "vendors: 2 with cut, expected one"},
		{"vendors: [{name: A, devices: [a.b/c], languages: [{name: x}]}]", "vendors[0].languages: of A, expected none where devices are not cut"},
		{"vendors: [{name: A, cut: true, devices: [a.b/c], languages: [{name: x}]}]",
			"vendors[0].languages[0].resourceCountName, resourceMemoryName"},
		{"vendors: [{name: A, cut: true, devices: [a.b/c], languages: [{resourceCountName: a.b/c, resourceMemoryName: a.b/d, defaultCores: 101}]}]",
			"vendors[0].languages[0].defaultCores: 101, expected 0 to 100"},
		{"vendors: [{name: A, cut: true, devices: [a.b/c], languages: [{resourceCountName: a.b/c, resourceMemoryName: a.b/d, memoryFactor: -1}]}]",
			"vendors[0].languages[0].memoryFactor: -1, expected 1 to 1073741824"},
		{"vendors: [{name: A, cut: true, devices: [a.b/c], annotationLanguages: [{name: x, fraction: f}]}]",
			`vendors[0].annotationLanguages[0]: "x", expected fraction, memory, devices and container`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c]}]\nannotations: [{keys: [a], effect: odd}]", `annotations[0].effect: "odd"`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c]}]\nannotations: [{keys: [a], effect: refused}]", `annotations[0]: effect "refused"`},
		{"vendors: [{name: A, cut: true, devices: [a.b/c]}]\nannotations: [{keys: [a, a], effect: read}]", `annotations[0].keys: "a", expected each name once`},
	} {
		_, err := Parse([]byte(test.text))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestAFileCountsInPlaceOfTheDefault(t *testing.T) {
	if table, err := Load(""); err != nil || table != Default() {
		t.Errorf("no file: %v, %v", table, err)
	}
	file := filepath.Join(t.TempDir(), "devices.yaml")
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(file, []byte("vendors: 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "devices.yaml") {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if err := os.WriteFile(file, vendors, 0o600); err != nil {
		t.Fatal(err)
	}
	if table, err := Load(file); err != nil || len(table.Vendors) != len(Default().Vendors) {
		t.Errorf("the default's own file: %v", err)
	}
}
