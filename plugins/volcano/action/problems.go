package action

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"tephra.sh/volcano/facts"
)

// unsupported is the condition reason of a gang that cannot be told to the engine.
const unsupported = "Unsupported"

// apiVersions of the kinds that a problem can be about.
var apiVersions = map[string]string{"Node": "v1", "Pod": "v1",
	"PodGroup": "scheduling.volcano.sh/v1beta1", "Queue": "scheduling.volcano.sh/v1beta1",
	"HyperNode": "topology.volcano.sh/v1alpha1", "PodDisruptionBudget": "policy/v1"}

// tellProblems says on each object, once, what of it could not be told to the engine, and why its
// gang waits where it does.
func (a *Action) tellProblems() {
	for _, change := range a.feed.DrainProblems() {
		if change.Job != "" {
			a.notices.problem(change)
		}
		if change.Gone {
			continue
		}
		klog.InfoS("Not understood", "problem", change.Error())
		if apiVersion := apiVersions[change.Object.Kind]; apiVersion != "" {
			a.options.Recorder.Event(reference(apiVersion, change.Object), v1.EventTypeWarning, "TephraUnsupported", change.Error())
		}
	}
}

func reference(apiVersion string, object facts.Object) *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: apiVersion, Kind: object.Kind, Namespace: object.Namespace,
		Name: object.Name, UID: types.UID(object.UID)}
}

// problem notes that a gang waits because of something that was not understood, or no longer does.
func (n *notices) problem(change facts.ProblemChange) {
	known := n.of(change.Job)
	if change.Gone {
		if known.obstacle == unsupported {
			known.obstacle, known.text, known.since = "NotYetDecided", "understood now, and not yet decided", time.Now()
		}
		return
	}
	known.placed, known.binding, known.since = false, "", time.Now()
	known.obstacle, known.text = unsupported, change.Error()
}
