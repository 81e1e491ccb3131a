package facts

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tephra.sh/volcano/annotations"
)

const expectedRuntimeAspect = "expected-runtime"

// The engine's bound, kMostRunMs.
const mostRunMs = 1 << 40

// readExpectedRuntime notes how long the group says that its pods run. REQUIRES: it is known.
func (f *Feed) readExpectedRuntime(g *group) {
	var wrong *fault
	g.expected = 0
	if text, given := g.obj.Annotations[annotations.ExpectedRuntimeKey]; given {
		expected, err := annotations.ParseDuration(annotations.ExpectedRuntimeKey, text)
		if err != nil {
			wrong = annotationFault(err)
		}
		g.expected = expected
	}
	f.note(groupObject(g.obj), expectedRuntimeAspect, "", wrong)
}

// estimatedRuntimeMs: as the group says, or until the last of its pods is killed at its deadline; 0 where one of them has none.
func (g *group) estimatedRuntimeMs() int64 {
	if g.expected > 0 {
		return min(g.expected.Milliseconds(), mostRunMs)
	}
	var longest int64
	add := func(spec *corev1.PodSpec) bool {
		deadline := spec.ActiveDeadlineSeconds
		if deadline == nil || *deadline <= 0 {
			return false
		}
		longest = max(longest, min(*deadline, math.MaxInt64/1000)*int64(time.Second/time.Millisecond))
		return true
	}
	for _, p := range g.pods {
		if !add(&p.obj.Spec) {
			return 0
		}
	}
	for _, m := range g.templates {
		if !add(&m.pod.Spec) {
			return 0
		}
	}
	return min(longest, mostRunMs)
}

// image: of the first container of its pods. If there are several, the one that sorts first: any of them tells programs apart.
func (g *group) image() string {
	first := ""
	add := func(spec *corev1.PodSpec) {
		if len(spec.Containers) == 0 || spec.Containers[0].Image == "" {
			return
		}
		if image := spec.Containers[0].Image; first == "" || image < first {
			first = image
		}
	}
	for _, p := range g.pods {
		add(&p.obj.Spec)
	}
	for _, m := range g.templates {
		add(&m.pod.Spec)
	}
	return first
}
