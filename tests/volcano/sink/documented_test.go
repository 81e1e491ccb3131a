package sink

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/link"
	"tephra.sh/volcano/requests"
	"tephra.sh/volcano/tephrav1"
)

const document = "../../../docs/reference/requests.md"

// example is a pod of the document, with what the cluster has beside its H100s and what comes of it.
type example struct {
	line    int
	pod     corev1.Pod
	model   *annotations.Device // nil: the nodes have H100s alone
	amounts corev1.ResourceList // that a node has
	want    string
}

var (
	block     = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	nodesHave = regexp.MustCompile(`(?m)^# nodes have (.*)$`)
	gpuModel  = regexp.MustCompile(`^(.*) (\d+) MiB(?: (mps)| mig (\S+)| time slices (\d+))?$`)
	outcome   = regexp.MustCompile(`(?m)^# (.*(?: gets | is counted: ).*|refused: .*)$`)
)

// readDocument are the examples, and the tables of --device-resources.
func readDocument(t *testing.T) (examples []example, tables []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range block.FindAllSubmatchIndex(text, -1) {
		body := strings.ReplaceAll(string(text[at[2]:at[3]]), "\n#   ", " ") // a comment may go on in the next line
		if strings.HasPrefix(body, "vendors:") {
			tables = append(tables, body)
			continue
		}
		e := example{line: 1 + strings.Count(string(text[:at[0]]), "\n"), amounts: corev1.ResourceList{}}
		if err := yaml.UnmarshalStrict([]byte(body), &e.pod); err != nil {
			t.Fatalf("line %d: %v", e.line, err)
		}
		if have := nodesHave.FindStringSubmatch(body); have != nil {
			for _, one := range strings.Split(have[1], ", ") {
				if model := gpuModel.FindStringSubmatch(one); model != nil {
					mib, _ := strconv.Atoi(model[2])
					e.model = &annotations.Device{Model: model[1], MemoryMiB: int32(mib), Healthy: true}
					if model[3] != "" {
						e.model.Sharing.Modes = []annotations.Mode{annotations.MPS}
					} else if model[4] != "" {
						e.model.Sharing = annotations.Sharing{Modes: []annotations.Mode{annotations.MIG}, MIGModel: model[4]}
					} else if model[5] != "" {
						replicas, _ := strconv.Atoi(model[5])
						e.model.Sharing = annotations.Sharing{Modes: []annotations.Mode{annotations.TimeSlice}, Replicas: int32(replicas)}
					}
				} else if name, amount, ok := strings.Cut(one, ": "); ok {
					e.amounts[corev1.ResourceName(name)] = resource.MustParse(amount)
				} else {
					t.Fatalf("line %d: nodes have %q", e.line, one)
				}
			}
		}
		want := outcome.FindAllStringSubmatch(body, -1)
		if len(want) != 1 {
			t.Fatalf("line %d: %d comments say what comes of it, expected one", e.line, len(want))
		}
		e.want = want[0][1]
		examples = append(examples, e)
	}
	return examples, tables
}

func someNode(t *testing.T, name string, amounts corev1.ResourceList, devices ...annotations.Device) *corev1.Node {
	t.Helper()
	node, err := GPUNode(name, 4)
	if err != nil {
		t.Fatal(err)
	}
	if node.Annotations[annotations.InventoryKey], err = annotations.FormatInventory(devices); err != nil {
		t.Fatal(err)
	}
	for name, amount := range amounts {
		node.Status.Allocatable[name] = amount
	}
	return node
}

// copies is how many pods, each for itself, ask for the same as the example, and how many of them are
// to start. What is counted is asked for once more often than the one node has it.
func (e *example) copies() (pods, start int) {
	if strings.HasPrefix(e.want, "refused: ") {
		return 1, 0
	}
	if len(e.amounts) == 0 {
		return 1, 1
	}
	for name, amount := range e.amounts {
		limit := e.pod.Spec.Containers[0].Resources.Limits[name]
		if fit := int(amount.Value() / max(1, limit.Value())); start == 0 || fit < start {
			start = fit
		}
	}
	return start + 1, start
}

// source is the feed, of which the engine has to take every fact.
type source struct {
	*facts.Feed
	t *testing.T
}

func (s source) Refused(event *tephrav1.Event, why string) {
	s.t.Errorf("the engine refused %v: %s", event, why)
}

// play puts the example to an engine: what the first pod is given, or why it is refused, and how many
// of them start.
func (e *example) play(t *testing.T, pods int) (got string, started int) {
	t.Helper()
	cluster, err := New(&facts.Options{Admit: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Stop()
	h100 := slices.Repeat([]annotations.Device{{Model: "NVIDIA H100", MemoryMiB: 80000, Healthy: true}}, 4)
	objects := []runtime.Object{Queue("research"), someNode(t, "n1", nil, h100...), someNode(t, "n2", e.amounts, h100...)}
	if e.model != nil {
		objects = append(objects, someNode(t, "n3", nil, *e.model))
	}
	for i := range pods {
		group, made := Gang("g"+strconv.Itoa(i), "research", 1, nil)
		made[0].Spec.Containers = e.pod.DeepCopy().Spec.Containers
		for c := range made[0].Spec.Containers { // as the API server completes it
			resources := &made[0].Spec.Containers[c].Resources
			resources.Requests = resources.Limits.DeepCopy()
		}
		for key, value := range e.pod.Annotations {
			made[0].Annotations[key] = value
		}
		objects = append(objects, group, made[0])
	}
	if err := cluster.Add(objects...); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	engine, err := StartEngine(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Stop()
	conversation, err := link.New(link.Options{Socket: engine.Socket, Client: "test"}, source{cluster.Feed, t})
	if err != nil {
		t.Fatal(err)
	}
	defer conversation.Close()
	within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	reply, err := conversation.Cycle(within, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range cluster.Feed.Problems() {
		if problem.Job == "" || problem.Object.Kind != "Pod" {
			t.Errorf("an unexpected problem: %v", problem)
		}
		return "refused: " + strings.TrimPrefix(problem.Error(), problem.Object.String()+": "), 0
	}
	for _, decision := range reply.Plan.Decisions {
		if decision.Verdict != tephrav1.Verdict_VERDICT_START {
			continue
		}
		started++
		if got == "" {
			got = e.describe(decision.Placements[0])
		}
	}
	return got, started
}

// describe says in the document's words what the container that asks is given.
func (e *example) describe(placement *tephrav1.Placement) string {
	if len(placement.Slices) == 0 {
		main := e.pod.Spec.Containers[0]
		var counted []string
		for _, name := range slices.Sorted(maps.Keys(main.Resources.Limits)) {
			quantity := main.Resources.Limits[name]
			counted = append(counted, fmt.Sprintf("%d of %s", quantity.Value(), name))
		}
		at := ""
		if placement.Node != "n2" {
			at = ", on " + placement.Node
		}
		return main.Name + " is counted: " + strings.Join(counted, ", ") + at
	}
	slice := placement.Slices[0]
	many, each := "", "it"
	if count := len(placement.Slices); count > 1 {
		many, each = "s", "each"
	}
	given := fmt.Sprintf("%s gets %d ", e.pod.Spec.Containers[slice.Container].Name, len(placement.Slices))
	if slice.Mode == tephrav1.SliceMode_SLICE_MODE_WHOLE {
		return given + "whole GPU" + many
	}
	switch slice.Mode {
	case tephrav1.SliceMode_SLICE_MODE_MIG:
		profile := annotations.MIGProfile(e.model.Sharing.MIGModel, int(slice.MigProfile))
		given += fmt.Sprintf("GPU%s, of %s a MIG instance %s: %d MiB", many, each, profile, slice.MemoryMib)
	case tephrav1.SliceMode_SLICE_MODE_MPS:
		given += fmt.Sprintf("GPU%s, by MPS of %s %d MiB", many, each, slice.MemoryMib)
	case tephrav1.SliceMode_SLICE_MODE_TIME_SLICE:
		return given + fmt.Sprintf("GPU%s, of %s a time slice: %d per mille of the compute", many, each, slice.Compute)
	default:
		given += fmt.Sprintf("GPU%s, of %s %d MiB", many, each, slice.MemoryMib)
	}
	if slice.Compute > 0 {
		given += fmt.Sprintf(" and %d per mille of the compute", slice.Compute)
	}
	return given
}

func TestTheDocumentsExamplesGetWhatItSays(t *testing.T) {
	if os.Getenv(EngineVariable) == "" {
		t.Setenv(EngineVariable, "../"+defaultEngine) // tests run in the package's folder
	}
	if _, err := EnginePath(); err != nil {
		t.Skip(err)
	}
	examples, _ := readDocument(t)
	for _, e := range examples {
		t.Run(fmt.Sprintf("line_%d", e.line), func(t *testing.T) {
			pods, start := e.copies()
			got, started := e.play(t, pods)
			if got != e.want || started != start {
				t.Errorf("%d of %d start, expected %d\n got %s\nwant %s", started, pods, start, got, e.want)
			}
		})
	}
}

func TestTheDocumentsTableCanBeRead(t *testing.T) {
	_, tables := readDocument(t)
	if len(tables) != 1 {
		t.Errorf("%d tables, expected one", len(tables))
	}
	for _, table := range tables {
		if _, err := requests.Parse([]byte(table)); err != nil {
			t.Error(err)
		}
	}
}

func TestTheDocumentNamesEverythingInTheTable(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	named := func(what string) {
		t.Helper()
		if !strings.Contains(string(text), what) {
			t.Errorf("%s: not in the document", what)
		}
	}
	for _, vendor := range requests.Default().Vendors {
		named(vendor.Name)
		if vendor.MPS != nil {
			named("`" + vendor.MPS.Cores + "`")
			named("`" + vendor.MPS.Memory + "`")
		}
		for _, language := range vendor.Languages {
			named(language.Name)
			named(language.Count)
		}
		for _, language := range vendor.AnnotationLanguages {
			named("`" + language.Fraction + "`")
			named("`" + language.Memory + "`")
			named("`" + language.Devices + "`")
			named("`" + language.Container + "`")
		}
	}
	for _, rule := range requests.Default().Annotations {
		for _, key := range rule.Keys {
			named("`" + key + "`")
		}
	}
}
