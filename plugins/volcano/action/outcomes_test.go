package action

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/memory"
	pb "tephra.sh/volcano/tephrav1"
)

func TestEverySyncTellsTheMemoryAfterTheKindsAndBeforeAllElse(t *testing.T) {
	cluster, err := sink.New(&facts.Options{Admit: true})
	ok(t, err)
	t.Cleanup(cluster.Stop)
	group, pods := sink.Gang("gang", "research", 1, sink.GPUs(1))
	objects := []runtime.Object{sink.Queue("research"), group}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	ok(t, cluster.Add(objects...))
	ok(t, cluster.Start())
	o := &outcomes{feed: cluster.Feed, memory: &memory.Store{}}
	if at, reported := memoryIn(o.Sync()); reported != nil {
		t.Errorf("reported %v in place %d while nothing is known", reported, at)
	}
	for ms := int64(1); ms <= 3; ms++ {
		remembered := &pb.Memory{Version: 1, AtMs: ms}
		o.memory.Keep(remembered)
		if at, reported := memoryIn(o.Drain()); reported != nil {
			t.Errorf("reported %v in place %d outside a sync", reported, at)
		}
		events := o.Sync()
		at, reported := memoryIn(events)
		if !proto.Equal(reported, remembered) || at > 1 || at == 1 && events[0].GetKindsDeclared() == nil || len(events) < 3 {
			t.Errorf("reported %v in place %d of %v, expected %v", reported, at, events, remembered)
		}
	}
}

func TestTheMemoryComesAfterTheNamesOfKinds(t *testing.T) {
	kinds := &pb.Event{Fact: &pb.Event_KindsDeclared{KindsDeclared: &pb.KindsDeclared{Names: []string{"example.com/nic"}}}}
	queue := &pb.Event{Fact: &pb.Event_QueueUpserted{QueueUpserted: &pb.QueueUpserted{}}}
	for _, test := range []struct {
		events []*pb.Event
		want   int
	}{{nil, 0}, {[]*pb.Event{queue}, 0}, {[]*pb.Event{kinds, queue}, 1}, {[]*pb.Event{kinds}, 1}} {
		if at, _ := memoryIn(reminded(test.events, &pb.Memory{Version: 1})); at != test.want {
			t.Errorf("place %d of %v, expected %d", at, test.events, test.want)
		}
	}
}

func TestAMemoryThatTheEngineRefusesIsNotSentAgain(t *testing.T) {
	o := &outcomes{memory: &memory.Store{}}
	o.memory.Keep(&pb.Memory{Version: 1})
	reported := reminded(nil, o.memory.Newest())[0]
	o.memory.Keep(&pb.Memory{Version: 1, AtMs: 1})
	o.Refused(reported, "no")
	if o.memory.Newest() == nil {
		t.Error("a newer one went with it")
	}
	o.Refused(reminded(nil, o.memory.Newest())[0], "no")
	if o.memory.Newest() != nil {
		t.Error("it is sent again")
	}
}

// memoryIn is the memory in the events, and its place; nil: none.
func memoryIn(events []*pb.Event) (int, *pb.Memory) {
	for at, event := range events {
		if reported := event.GetMemoryRestored(); reported != nil {
			return at, reported.GetMemory()
		}
	}
	return -1, nil
}
