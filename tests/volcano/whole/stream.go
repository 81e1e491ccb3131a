package whole

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is the body of an answer that goes on: what is written can be read until it ends.
type stream struct {
	done <-chan struct{} // of the request

	mutex sync.Mutex
	bytes []byte
	over  bool
	wake  chan struct{}
}

func newStream(done <-chan struct{}) *stream {
	return &stream{done: done, wake: make(chan struct{}, 1)}
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stream) write(bytes []byte) {
	s.mutex.Lock()
	s.bytes = append(s.bytes, bytes...)
	s.mutex.Unlock()
	s.signal()
}

func (s *stream) end() {
	s.mutex.Lock()
	s.over = true
	s.mutex.Unlock()
	s.signal()
}

// Read implements io.Reader.
func (s *stream) Read(to []byte) (int, error) {
	for {
		s.mutex.Lock()
		if n := copy(to, s.bytes); n > 0 {
			s.bytes = s.bytes[n:]
			s.mutex.Unlock()
			return n, nil
		}
		over := s.over
		s.mutex.Unlock()
		if over {
			return 0, io.EOF
		}
		select {
		case <-s.wake:
		case <-s.done:
			return 0, io.ErrUnexpectedEOF
		}
	}
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.end()
	return nil
}

// watcher is one watch of one client.
type watcher struct {
	world    *World
	client   *client
	resource string
	stream   *stream
	last     time.Duration // when the last event arrives
}

func frame(event watch.EventType, object []byte) []byte {
	return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", event, object)
}

// offer sends the change, which arrives later, and after the changes before it.
func (w *watcher) offer(c change) {
	if c.resource == w.resource {
		w.send(frame(c.event, c.after.raw))
	}
}

func (w *watcher) send(bytes []byte) {
	name := "watch " + w.client.name + " " + w.resource
	high := 20 * time.Millisecond
	if w.world.active(LagWatches, w.client.number) != nil {
		high = 6 * time.Second
	}
	if w.world.Mutant == "lost-events" && w.world.chance(name+" lost", 20) {
		return
	}
	at := w.world.now() + w.world.between(name, time.Millisecond, high)
	if held := w.world.heldUntil(w.client); held > at {
		at = held + w.world.between(name+" held", time.Millisecond, high)
	}
	at = max(at, w.last+w.world.between(name+" next", 1, 1000))
	w.last = at
	w.world.after(at-w.world.now(), func() {
		if !w.client.dead {
			w.stream.write(bytes)
		}
	})
}

// tooOld is the event that tells a client to list again.
func tooOld() []byte {
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old resource version"}
	text, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	return frame(watch.Error, text)
}
