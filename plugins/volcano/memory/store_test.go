package memory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	pb "tephra.sh/volcano/tephrav1"
)

const (
	namespace = "tephra-system"
	name      = "tephra-memory"
	intro     = "ConfigMap tephra-system/tephra-memory: data[memory.json]: "
)

var start = time.Now().Add(-time.Hour).UnixMilli()

// memoryOf is one that was written so many minutes after the start.
func memoryOf(minutes int64) *pb.Memory {
	return &pb.Memory{Version: 1, AtMs: start + minutes*time.Minute.Milliseconds(), HalfLifeMs: 604800000, Queues: []*pb.RememberedQueue{{
		Queue: "research", Spent: []*pb.RememberedAmount{{Kind: "cpu", Spent: 1.25e15}, {Kind: "gpu", Spent: float64(minutes) / 3}},
		Users: []*pb.RememberedUser{
			{Spent: []*pb.RememberedAmount{{Kind: "gpu", Spent: 1e-300}}},
			{User: "ada <ada@example.com>", Spent: []*pb.RememberedAmount{{Kind: "gpu", Spent: 1e300}}}},
	}}}
}

type desk struct {
	*Store
	t      *testing.T
	client *fake.Clientset
	events *record.FakeRecorder
}

func newDesk(t *testing.T, objects ...runtime.Object) *desk {
	t.Helper()
	client, events := fake.NewSimpleClientset(objects...), record.NewFakeRecorder(100)
	d := &desk{New(client, namespace, name, events, &v1.ObjectReference{}), t, client, events}
	d.pause = time.Millisecond
	return d
}

// runs writes in the background until the test ends.
func (d *desk) runs() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); d.Run(ctx) }()
	d.t.Cleanup(func() { stop(); <-ended })
}

func (d *desk) stands() *v1.ConfigMap {
	found, err := d.client.CoreV1().ConfigMaps(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return found
}

// waitFor returns once that memory stands.
func (d *desk) waitFor(memory *pb.Memory) {
	d.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if found := d.stands(); found != nil {
			if read, err := parse(found.Data[Key], time.Now()); err == nil && proto.Equal(read, memory) {
				return
			}
		}
		if time.Now().After(end) {
			d.t.Fatalf("%v stands, expected %v", d.stands(), memory)
		}
	}
}

// said are the events since the last call.
func (d *desk) said() (texts []string) {
	for {
		select {
		case text := <-d.events.Events:
			texts = append(texts, text)
		default:
			return texts
		}
	}
}

func (d *desk) expectSaid(beginnings ...string) {
	d.t.Helper()
	if said := d.said(); !slices.EqualFunc(said, beginnings, strings.HasPrefix) {
		d.t.Errorf("said %q, expected %q", said, beginnings)
	}
}

// fails makes the next so many of these requests fail.
func (d *desk) fails(verb string, times int, err error) {
	d.client.PrependReactor(verb, "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		times--
		return times >= 0, nil, err
	})
}

func (d *desk) verbs() (verbs []string) {
	for _, action := range d.client.Actions() {
		verbs = append(verbs, action.GetVerb())
	}
	d.client.ClearActions()
	return verbs
}

// kept is a ConfigMap with that text.
func kept(text string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data: map[string]string{Key: text, "other": "stays"}}
}

func textOf(t *testing.T, memory *pb.Memory) string {
	t.Helper()
	text, err := format(memory)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatOneSchedulerKeepsTheNextOneReads(t *testing.T) {
	first := newDesk(t)
	first.Read(t.Context())
	if first.Newest() != nil {
		t.Error("something is known where nothing was kept")
	}
	first.runs()
	for minutes := range int64(3) {
		first.Keep(memoryOf(minutes))
		first.waitFor(memoryOf(minutes))
	}
	second := newDesk(t, first.stands())
	second.Read(t.Context())
	if !proto.Equal(second.Newest(), memoryOf(2)) {
		t.Errorf("read %v, expected %v", second.Newest(), memoryOf(2))
	}
	second.runs()
	second.Keep(memoryOf(3))
	second.waitFor(memoryOf(3))
	if got := second.verbs(); !slices.Equal(slices.Compact(got), []string{"get", "update", "get"}) {
		t.Errorf("requests %v, expected one look, one update, and the test's own", got)
	}
	first.expectSaid()
	second.expectSaid()
}

func TestWhatElseIsInTheConfigMapStays(t *testing.T) {
	d := newDesk(t, kept(""))
	d.Read(t.Context())
	d.runs()
	d.Keep(memoryOf(1))
	d.waitFor(memoryOf(1))
	if got := d.stands().Data["other"]; got != "stays" {
		t.Errorf("other: %q", got)
	}
	d.expectSaid()
}

func TestOfSeveralThatComeDuringAWriteTheNewestAloneIsWritten(t *testing.T) {
	d := newDesk(t)
	begun, goOn := make(chan struct{}), make(chan struct{})
	d.client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		close(begun)
		<-goOn
		return false, nil, nil
	})
	d.Read(t.Context())
	d.verbs()
	d.runs()
	d.Keep(memoryOf(0))
	<-begun
	for minutes := int64(1); minutes <= 5; minutes++ {
		d.Keep(memoryOf(minutes)) // does not wait
	}
	close(goOn)
	d.waitFor(memoryOf(5))
	writes := slices.DeleteFunc(d.verbs(), func(verb string) bool { return verb == "get" })
	if !slices.Equal(writes, []string{"create", "update"}) {
		t.Errorf("writes %v, expected two", writes)
	}
}

func TestWhatIsNotAMemoryIsSaidAndCountsAsNothing(t *testing.T) {
	tomorrow := memoryOf(24 * 60)
	for text, want := range map[string]string{
		"garbage":                     `"garbage", expected JSON of version 1 (`,
		`[]`:                          `"[]", expected JSON of version 1 (`,
		`{}`:                          `version: absent, expected 1`,
		`{"version":2,"more":"then"}`: `version: 2, expected 1; past usage starts at zero, and the next memory takes its place`,
		`{"version":1,"atMs":"x"}`:    `"{\"version\":1,\"atMs\":\"x\"}", expected a memory of version 1 (`,
		`{"version":1,"queues":{}}`:   `"{\"version\":1,\"queues\":{}}", expected a memory of version 1 (`,
		textOf(t, tomorrow):           `atMs: `,
	} {
		d := newDesk(t, kept(text))
		d.Read(t.Context())
		if d.Newest() != nil {
			t.Errorf("%s: read as %v", text, d.Newest())
		}
		d.expectSaid("Warning MemoryNotRead " + intro + want)
		d.runs()
		if got := d.stands().Data[Key]; got != text {
			t.Errorf("%s: replaced by %s though there is nothing to keep", text, got)
		}
		d.Keep(memoryOf(1))
		d.waitFor(memoryOf(1))
		d.expectSaid()
	}
}

func TestFieldsOfLaterAreTakenForAbsent(t *testing.T) {
	d := newDesk(t, kept(strings.Replace(textOf(t, memoryOf(1)), "{", `{"later":[1],`, 1)))
	d.Read(t.Context())
	if !proto.Equal(d.Newest(), memoryOf(1)) {
		t.Errorf("read %v", d.Newest())
	}
	d.expectSaid()
}

func TestAReadThatFailsIsTriedAgain(t *testing.T) {
	d := newDesk(t, kept(textOf(t, memoryOf(1))))
	d.fails("get", 2, apierrors.NewInternalError(errors.New("not now")))
	d.Read(t.Context())
	if !proto.Equal(d.Newest(), memoryOf(1)) {
		t.Errorf("read %v", d.Newest())
	}
	d.expectSaid()
}

func TestAMemoryThatCouldNotBeReadIsNotReplacedInSilence(t *testing.T) {
	d := newDesk(t, kept(textOf(t, memoryOf(1))))
	d.fails("get", 1, apierrors.NewForbidden(v1.Resource("configmaps"), name, errors.New("no role")))
	d.Read(t.Context())
	d.expectSaid("Warning MemoryNotRead " + intro + `configmaps "tephra-memory" is forbidden: no role; past usage starts at zero`)
	d.runs()
	d.Keep(memoryOf(2))
	d.waitFor(memoryOf(2))
	d.expectSaid("Warning MemoryReplaced " + intro + "a memory of " + of(memoryOf(1)).Format(time.RFC3339))
}

func TestAWriteThatFailsIsTriedAgainAndSaidOnce(t *testing.T) {
	d := newDesk(t)
	d.Read(t.Context())
	d.fails("create", 3, apierrors.NewForbidden(v1.Resource("configmaps"), name, errors.New("no role")))
	d.runs()
	d.Keep(memoryOf(1))
	d.waitFor(memoryOf(1))
	d.Keep(memoryOf(2))
	d.waitFor(memoryOf(2)) // by then the end of the failure is said
	d.expectSaid("Warning MemoryNotWritten "+intro+`configmaps "tephra-memory" is forbidden: no role; tried again`,
		"Normal MemoryWritten ConfigMap tephra-system/tephra-memory: ")
}

func TestAConflictIsNoFailure(t *testing.T) {
	d := newDesk(t, kept(textOf(t, memoryOf(1))))
	d.Read(t.Context())
	d.fails("update", 1, apierrors.NewConflict(v1.Resource("configmaps"), name, nil))
	d.runs()
	d.Keep(memoryOf(2))
	d.waitFor(memoryOf(2))
	d.expectSaid()
}

func TestAConfigMapThatIsTakenAwayIsMadeAgain(t *testing.T) {
	d := newDesk(t, kept(textOf(t, memoryOf(1))))
	d.Read(t.Context())
	if err := d.client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.runs()
	d.Keep(memoryOf(2))
	d.waitFor(memoryOf(2))
	d.expectSaid()
}

// The one that led before may wake up late, and find what its successor wrote.
func TestANewerMemoryOfAnotherSchedulerStands(t *testing.T) {
	d := newDesk(t)
	d.Read(t.Context())
	if err := d.client.Tracker().Add(kept(textOf(t, memoryOf(5)))); err != nil {
		t.Fatal(err)
	}
	d.Keep(memoryOf(4))
	if err := d.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.waitFor(memoryOf(5))
	d.expectSaid()
	d.Keep(memoryOf(6)) // it leads, then, after all
	if err := d.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.waitFor(memoryOf(6))
}

func TestWhatTheEngineRefusesIsSaidAndNotSentAgain(t *testing.T) {
	d := newDesk(t, kept(textOf(t, memoryOf(1))))
	d.Read(t.Context())
	d.Refused(d.Newest(), "memory: half_life_ms: 0, expected above 0")
	if d.Newest() != nil {
		t.Error("it would be sent again")
	}
	d.expectSaid("Warning MemoryNotRead " + intro + "the engine refuses it: memory: half_life_ms: 0, expected above 0; past usage starts at zero")
}

func TestWithoutAConfigMapThisProcessRemembers(t *testing.T) {
	s := &Store{}
	s.Read(t.Context())
	s.Run(t.Context())
	s.Keep(memoryOf(1))
	s.Keep(memoryOf(2))
	if !proto.Equal(s.Newest(), memoryOf(2)) {
		t.Errorf("knows %v", s.Newest())
	}
	s.Refused(s.Newest(), "why not")
	if s.Newest() != nil {
		t.Error("it would be sent again")
	}
}
