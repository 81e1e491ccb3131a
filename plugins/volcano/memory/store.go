// Package memory keeps what the engine knows and no object of the cluster says, which is past usage: in
// this process for an engine that starts over, and in a ConfigMap for the scheduler that comes after.
package memory

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	pb "tephra.sh/volcano/tephrav1"
)

const (
	callWithin = 10 * time.Second
	// The first session waits for Read no longer than that.
	readWithin   = 10 * time.Second
	firstPause   = time.Second // after a call that failed
	longestPause = time.Minute
)

// Store has the newest memory. The zero value keeps it in this process only.
//
// Keep, Newest and Refused never wait for the API server, and may be called at any time; Read, and
// after it Run, by one goroutine.
type Store struct {
	client   kubernetes.Interface // nil: there is no ConfigMap
	object   v1.ObjectReference
	recorder record.EventRecorder
	self     *v1.ObjectReference // what events are about
	pause    time.Duration
	due      chan struct{} // has one in it while something may have to be written

	mutex  sync.Mutex
	newest *pb.Memory // nil: none is known

	standing     *v1.ConfigMap // what the API server had when we looked; nil: nothing
	seen         bool          // no other process is known to have written since
	known, tried string        // what stood there or was written last; what we tried to write, and may have
	written      *pb.Memory
	failing      bool
}

// New is a store in that ConfigMap.
func New(client kubernetes.Interface, namespace, name string, recorder record.EventRecorder, self *v1.ObjectReference) *Store {
	return &Store{client: client, recorder: recorder, self: self, pause: firstPause, due: make(chan struct{}, 1),
		object: v1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name}}
}

// Newest is what an engine that starts over gets; nil: nothing.
func (s *Store) Newest() *pb.Memory {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.newest
}

// Keep takes the place of what was kept. It is not changed from here on.
func (s *Store) Keep(memory *pb.Memory) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.newest = memory
	select {
	case s.due <- struct{}{}:
	default: // Run will look, and find this one
	}
}

// Refused: the engine did not take the memory, and does not get it again.
func (s *Store) Refused(sent *pb.Memory, why string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.newest == sent {
		s.newest = nil
	}
	if s.client == nil {
		klog.InfoS("The engine refused the record of past usage", "why", why)
		return
	}
	s.notRead("the engine refuses it: " + why)
}

// Read finds what an earlier scheduler kept. What cannot be read is said, and counts as nothing.
func (s *Store) Read(ctx context.Context) {
	if s.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	for pause := s.pause; ; pause *= 2 {
		err := s.look(ctx)
		if err == nil {
			break
		}
		if apierrors.IsForbidden(err) || !sleep(ctx, pause) {
			s.notRead(err.Error())
			return
		}
	}
	found, err := s.found()
	s.known = s.text()
	if err != nil {
		s.notRead(err.Error())
		return
	}
	if found == nil {
		klog.InfoS("There is no record of past usage yet", "configMap", s.where())
		return
	}
	klog.InfoS("Read the record of past usage", "configMap", s.where(), "of", of(found), "queues", len(found.GetQueues()))
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.newest, s.written = found, found
}

// Run writes what is kept, the newest alone where several came meanwhile, until the context ends.
func (s *Store) Run(ctx context.Context) {
	if s.client == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.due:
		}
		for pause := s.pause; ; pause = min(2*pause, longestPause) {
			err := s.write(ctx)
			if ctx.Err() != nil {
				return
			}
			s.say(err)
			if err == nil {
				break
			}
			if !sleep(ctx, pause) {
				return
			}
		}
	}
}

func (s *Store) write(ctx context.Context) error {
	newest := s.Newest()
	if newest == nil || newest == s.written {
		return nil
	}
	text, err := format(newest)
	if err != nil {
		return err
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { return s.put(ctx, newest, text) })
	if err == nil {
		s.written = newest
	}
	return err
}

// put makes one try. A conflict says that another process wrote: the next try reads first.
func (s *Store) put(ctx context.Context, newest *pb.Memory, text string) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	if !s.seen {
		if err := s.look(ctx); err != nil {
			return err
		}
		if !s.replaces(newest) {
			return nil
		}
	}
	s.seen, s.tried = false, text
	var err error
	if s.standing == nil {
		s.standing, err = s.configMaps().Create(ctx, &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.object.Namespace, Name: s.object.Name,
				Labels: map[string]string{"app.kubernetes.io/part-of": "tephra"}},
			Data: map[string]string{Key: text}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = s.conflict(err)
		}
	} else {
		changed := s.standing.DeepCopy()
		if changed.Data == nil {
			changed.Data = map[string]string{}
		}
		changed.Data[Key] = text
		s.standing, err = s.configMaps().Update(ctx, changed, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			err = s.conflict(err)
		}
	}
	if err == nil {
		s.seen, s.known = true, text
	}
	return err
}

func (s *Store) conflict(err error) error {
	return apierrors.NewConflict(v1.Resource("configmaps"), s.object.Name, err)
}

// replaces: what stands gives way to this memory, which is said where it was not ours. It does not
// where it is the newer one: ours may have waited while another scheduler led.
func (s *Store) replaces(newest *pb.Memory) bool {
	text := s.text()
	if text == "" || text == s.known || text == s.tried {
		return true
	}
	found, err := s.found()
	switch {
	case err != nil:
		s.warn("MemoryReplaced", err.Error()+"; it is replaced")
	case found.GetAtMs() > newest.GetAtMs():
		klog.InfoS("The ConfigMap already has a newer record of past usage", "configMap", s.where(), "of", of(found), "ours", of(newest))
		return false
	default:
		s.warn("MemoryReplaced", "a memory of "+of(found).Format(time.RFC3339)+", which this scheduler has neither read nor written, is replaced")
	}
	s.known = text
	return true
}

// look sees what stands now.
func (s *Store) look(ctx context.Context) error {
	found, err := s.configMaps().Get(ctx, s.object.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	s.standing, s.seen = nil, true
	if err == nil {
		s.standing = found
	}
	return nil
}

// text is the record that stands; empty: none.
func (s *Store) text() string {
	if s.standing == nil {
		return ""
	}
	return s.standing.Data[Key]
}

// found is the memory that stands; nil without an error: none.
func (s *Store) found() (*pb.Memory, error) {
	if text := s.text(); text != "" {
		return parse(text, time.Now())
	}
	return nil, nil
}
