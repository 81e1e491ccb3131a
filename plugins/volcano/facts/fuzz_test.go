package facts

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"
)

// What FuzzFeed reads: one change of the cluster on each line. A line that begins with "-" removes the object.
const (
	mostChanges  = 64
	removes      = "-"
	mostOfAFault = 4096 // bytes of the text of a problem
)

// objectOf is an object of a kind that the feed watches, as JSON; nil: the line is none.
func objectOf(line string) metav1.Object {
	var kind metav1.TypeMeta
	if json.Unmarshal([]byte(line), &kind) != nil {
		return nil
	}
	known := map[string]metav1.Object{
		"Node": &corev1.Node{}, "Pod": &corev1.Pod{}, "PriorityClass": &schedulingv1.PriorityClass{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "Queue": &schedulingv1beta1.Queue{},
		"PodGroup": &schedulingv1beta1.PodGroup{}, "Job": &batchv1alpha1.Job{}, "HyperNode": &topologyv1alpha1.HyperNode{}}
	object := known[kind.Kind]
	if object == nil || json.Unmarshal([]byte(line), object) != nil || object.GetName() == "" {
		return nil
	}
	// The API server gives each object a name and a UID of its own.
	object.SetUID(types.UID(kind.Kind + "/" + object.GetNamespace() + "/" + object.GetName()))
	return object
}

// linesOf are the objects of a history, as FuzzFeed reads them.
type linesOf struct{ lines []string }

func (l *linesOf) add(prefix string, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	kind := strings.TrimPrefix(reflect.TypeOf(object).String(), "*")
	kind = kind[strings.LastIndex(kind, ".")+1:]
	l.lines = append(l.lines, prefix+`{"kind":"`+kind+`",`+strings.TrimPrefix(string(text), "{"))
}
func (l *linesOf) put(object any)    { l.add("", object) }
func (l *linesOf) remove(object any) { l.add(removes, object) }

// FuzzFeed changes a cluster by objects that no API server checked. The feed survives each of them, what it drains adds up to a
// Sync, each problem is short, and the facts are no larger than the bounds of a gang allow.
func FuzzFeed(f *testing.F) {
	for seed := range uint64(24) {
		h, lines := newHistory(seed), &linesOf{}
		for range 12 {
			h.step(lines)
		}
		f.Add(strings.Join(lines.lines, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		if len(lines) > mostChanges {
			return
		}
		feed, drained := idleFeed(t, Options{Admit: len(text)%2 == 0, DomainLabels: []string{"row", "shelf"}}), newModel()
		groups := map[string]bool{}
		for i, line := range lines {
			object := objectOf(strings.TrimPrefix(line, removes))
			if object == nil {
				continue
			}
			if _, is := object.(*schedulingv1beta1.PodGroup); is {
				groups[string(object.GetUID())] = true
			}
			if strings.HasPrefix(line, removes) {
				handlers{feed}.remove(object)
			} else {
				handlers{feed}.put(object)
			}
			if i%4 != 3 {
				continue
			}
			for _, class := range feed.MaskedClasses() {
				feed.SetMask(class.Name, []string{"node0"})
			}
			if err := drained.apply(feed.Drain()); err != nil {
				t.Fatal(err)
			}
		}
		if err := drained.apply(feed.Drain()); err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, event := range feed.Sync() {
			size += proto.Size(event)
		}
		if most := 1<<16 + 64*len(text) + len(groups)*mostTemplateBytes; size > most {
			t.Fatalf("%d bytes of facts of %d bytes of objects, expected at most %d", size, len(text), most)
		}
		for _, problem := range feed.Problems() {
			if len(problem.Error()) > mostOfAFault {
				t.Fatalf("%s: %d bytes, expected at most %d", problem.Object, len(problem.Error()), mostOfAFault)
			}
		}
		if diff := difference(drained.lines(), wholeModel(t, feed).lines()); diff != "" {
			t.Fatalf("drained (-) and synced (+) differ:\n%s", diff)
		}
	})
}
