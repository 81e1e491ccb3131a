package action

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"

	"tephra.sh/volcano/facts"
)

// unsupported is the condition reason of a gang that cannot be described to the engine.
const unsupported = "Unsupported"

// apiVersions of the kinds that a problem can be about.
var apiVersions = map[string]string{"Node": "v1", "Pod": "v1",
	"Job": "batch.volcano.sh/v1alpha1", "PodGroup": "scheduling.volcano.sh/v1beta1", "Queue": "scheduling.volcano.sh/v1beta1",
	"HyperNode": "topology.volcano.sh/v1alpha1", "PodDisruptionBudget": "policy/v1"}

// reportProblems says on each object, once, what of it could not be described to the engine, and why its
// gang waits where it does.
func (a *Action) reportProblems(client vcclient.Interface) {
	for _, change := range a.feed.DrainProblems() {
		if change.Job != "" {
			a.notices.problem(change)
		}
		if change.Condition != "" {
			go outside{client}.write(change.Object.Namespace, change.Object.Name, conditionOf(change))
		}
		if change.Gone {
			continue
		}
		klog.InfoS("The engine does not learn of an object, or of a part of it", "problem", change.Error())
		if apiVersion := apiVersions[change.Object.Kind]; apiVersion != "" {
			a.options.Recorder.Event(reference(apiVersion, change.Object), v1.EventTypeWarning, "TephraUnsupported", change.Error())
		}
	}
}

// conditionOf is a problem's own condition: False while part of the object's spec does not count.
func conditionOf(change facts.ProblemChange) v1beta1.PodGroupCondition {
	condition := v1beta1.PodGroupCondition{Type: v1beta1.PodGroupConditionType(change.Condition), Status: v1.ConditionFalse,
		LastTransitionTime: metav1.Now(), Reason: "WaitsForPodsToEnd", Message: change.Error()}
	if change.Gone {
		condition.Status, condition.Reason, condition.Message = v1.ConditionTrue, "InForce", change.Field+" is in force"
	}
	return condition
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
			known.obstacle, known.text, known.since = "NotYetDecided", "the object is correct now; no cycle has decided about it yet", time.Now()
		}
		return
	}
	known.placed, known.binding, known.since = false, "", time.Now()
	known.obstacle, known.text = unsupported, change.Error()
}
