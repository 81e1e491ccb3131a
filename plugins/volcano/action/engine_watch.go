package action

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// engineWatch says once that the engine went, and once that it came back.
type engineWatch struct {
	recorder record.EventRecorder
	self     *v1.ObjectReference // what its events are about
	meantime string              // what happens while it is gone
	up       atomic.Bool
	said     bool
}

func (w *engineWatch) reachable() bool { return w.up.Load() }

func (w *engineWatch) lost(err error) {
	engineUp.Set(0)
	engineFailures.Inc()
	if w.up.Swap(false) || !w.said {
		w.said = true
		klog.ErrorS(err, "The engine does not answer", "meantime", w.meantime)
		w.recorder.Event(w.self, v1.EventTypeWarning, "EngineUnreachable",
			"the scheduling engine does not answer, "+w.meantime+" until it does: "+err.Error())
	}
}

func (w *engineWatch) found() {
	engineUp.Set(1)
	if w.up.Swap(true) {
		return
	}
	klog.InfoS("The engine answers")
	if w.said {
		w.recorder.Event(w.self, v1.EventTypeNormal, "EngineReachable", "the scheduling engine answers again")
	}
	w.said = true
}
