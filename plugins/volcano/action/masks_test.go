package action

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tephra.sh/volcano/facts"
)

func classes(namespace string, count int) []facts.MaskedClass {
	var out []facts.MaskedClass
	for i := range count {
		out = append(out, facts.MaskedClass{Name: fmt.Sprintf("%s-%04d", namespace, i),
			Example: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}})
	}
	return out
}

// session judges classes, each of which takes 100 ms, and returns the names of the classes that were judged.
func session(m *maskTurns, all []facts.MaskedClass) (judged []string) {
	now := time.Unix(0, 0)
	m.judge(all, func() time.Time { return now }, func(class facts.MaskedClass) {
		judged = append(judged, class.Name)
		now = now.Add(100 * time.Millisecond)
	})
	return judged
}

func TestClassesOfEachNamespaceAreJudgedInTurn(t *testing.T) {
	m := &maskTurns{}
	all := append(classes("mallory", 1000), classes("team", 2)...)
	first := session(m, all)
	if len(first) != 5 || !m.left || !slices.Contains(first, "team-0000") || !slices.Contains(first, "team-0001") {
		t.Errorf("the first session judged %v, left some: %v", first, m.left)
	}
	seen := map[string]int{}
	for range 400 {
		for _, name := range session(m, all) {
			seen[name]++
		}
	}
	if len(seen) != len(all) {
		t.Errorf("400 sessions judged %d of %d classes", len(seen), len(all))
	}
	if seen["team-0000"] < 100 {
		t.Errorf("team-0000 was judged %d times", seen["team-0000"])
	}
}

func TestAllClassesAreJudgedInASessionThatHasTheTime(t *testing.T) {
	m := &maskTurns{}
	for range 3 {
		if judged := session(m, classes("team", 5)); len(judged) != 5 || m.left {
			t.Errorf("judged %s, left some: %v", strings.Join(judged, ","), m.left)
		}
	}
	session(m, nil)
	if len(m.judged) != 0 || m.left {
		t.Errorf("classes that are gone are remembered: %v", m.judged)
	}
}
