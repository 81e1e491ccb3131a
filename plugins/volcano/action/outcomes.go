package action

import (
	"slices"
	"sync"

	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/memory"
	pb "tephra.sh/volcano/tephrav1"
)

// outcomes adds what became of earlier plans, and what the engine is to remember, to the facts of the
// feed. It is the link's Source.
type outcomes struct {
	feed   *facts.Feed
	memory *memory.Store

	mutex sync.Mutex
	since []*pb.Event // not sent yet
}

func (o *outcomes) add(event *pb.Event) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.since = append(o.since, event)
}

func (o *outcomes) waiting() bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return len(o.since) > 0
}

func (o *outcomes) take() []*pb.Event {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	since := o.since
	o.since = nil
	return since
}

// Sync implements link.Source. Outcomes are about assumptions, and a fresh engine has none.
func (o *outcomes) Sync() []*pb.Event {
	o.take()
	return reminded(o.feed.Sync(), o.memory.Newest())
}

// reminded has the memory before queues and jobs, and after the names of kinds: of one that has none
// nothing is remembered.
func reminded(events []*pb.Event, of *pb.Memory) []*pb.Event {
	if of == nil {
		return events
	}
	at := 0
	if len(events) > 0 && events[0].GetKindsDeclared() != nil {
		at = 1
	}
	return slices.Insert(events, at, &pb.Event{Fact: &pb.Event_MemoryRestored{MemoryRestored: &pb.MemoryRestored{Memory: of}}})
}

// Drain implements link.Source. A plan's outcome goes before newer facts: a slot that a pod left
// is freed before another pod has it.
func (o *outcomes) Drain() []*pb.Event { return append(o.take(), o.feed.Drain()...) }

// Refused implements link.Source.
func (o *outcomes) Refused(event *pb.Event, message string) {
	if sent := event.GetMemoryRestored(); sent != nil {
		o.memory.Refused(sent.GetMemory(), message)
		return
	}
	o.feed.RefusedByEngine(event, message)
}
