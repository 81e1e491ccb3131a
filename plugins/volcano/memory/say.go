package memory

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

// What is said of the ConfigMap, in the log and in an event on the scheduler.

func (s *Store) where() string { return s.object.Namespace + "/" + s.object.Name }

func (s *Store) configMaps() typedv1.ConfigMapInterface {
	return s.client.CoreV1().ConfigMaps(s.object.Namespace)
}

func (s *Store) warn(reason, text string) {
	text = "ConfigMap " + s.where() + ": data[" + Key + "]: " + text
	klog.InfoS(text, "reason", reason)
	s.recorder.Event(s.self, v1.EventTypeWarning, reason, text)
}

func (s *Store) notRead(why string) {
	s.warn("MemoryNotRead", why+"; past usage starts at zero, and the next memory takes its place")
}

// say says once that writing fails, and once that it does no longer.
func (s *Store) say(err error) {
	if (err != nil) == s.failing {
		return
	}
	s.failing = err != nil
	if s.failing {
		s.warn("MemoryNotWritten", err.Error()+"; tried again until it is")
		return
	}
	klog.InfoS("The record of past usage is written again", "configMap", s.where())
	s.recorder.Event(s.self, v1.EventTypeNormal, "MemoryWritten", "ConfigMap "+s.where()+": the engine's memory is written again")
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
