package action

import (
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// engineWatch logs and publishes when the engine stops answering, when the cause changes, and when the
// engine answers again.
type engineWatch struct {
	recorder record.EventRecorder
	self     *v1.ObjectReference // what its events are about
	meantime string              // what happens while it is gone
	up       atomic.Bool
	said     string // the cause that was logged last; empty: none yet, or the engine has answered since
	before   bool   // the engine was found or lost before
}

func (w *engineWatch) reachable() bool { return w.up.Load() }

// lost: a cycle failed. `ahead` is why sending facts ahead of the cycle failed, if it did: then the cycle
// only met the consequences.
func (w *engineWatch) lost(err, ahead error) {
	engineUp.Set(0)
	engineFailures.Inc()
	if ahead != nil && ahead.Error() != err.Error() {
		err = fmt.Errorf("%w (before the cycle: %w)", err, ahead)
	}
	first := w.up.Swap(false) || !w.before
	w.before = true
	if first || w.said != err.Error() {
		w.said = err.Error()
		klog.ErrorS(err, "The engine does not answer", "meantime", w.meantime)
	}
	if first {
		w.recorder.Event(w.self, v1.EventTypeWarning, "EngineUnreachable",
			"the engine does not answer; "+w.meantime+" until it does: "+err.Error())
	}
}

func (w *engineWatch) found() {
	engineUp.Set(1)
	w.said = ""
	if w.up.Swap(true) {
		return
	}
	klog.InfoS("The engine answers")
	if w.before {
		w.recorder.Event(w.self, v1.EventTypeNormal, "EngineReachable", "the engine answers again")
	}
	w.before = true
}
