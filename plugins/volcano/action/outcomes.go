package action

import (
	"sync"

	"tephra.sh/volcano/facts"
	pb "tephra.sh/volcano/tephrav1"
)

// outcomes adds what became of earlier plans to the facts of the feed. It is the link's Source.
type outcomes struct {
	feed *facts.Feed

	mutex sync.Mutex
	since []*pb.Event // not told yet
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
	return o.feed.Sync()
}

// Drain implements link.Source. A plan's outcome goes before newer facts: a slot that a pod left
// is freed before another pod has it.
func (o *outcomes) Drain() []*pb.Event { return append(o.take(), o.feed.Drain()...) }

// Refused implements link.Source.
func (o *outcomes) Refused(event *pb.Event, message string) { o.feed.RefusedByEngine(event, message) }
