package action

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	pb "tephra.sh/volcano/tephrav1"
)

func TestAGroupWhoseAdmissionWasNotWrittenIsAdmittedAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		decided []*pb.Decision
		phase   v1beta1.PodGroupPhase
	}{
		{"nothing new is decided", nil, v1beta1.PodGroupInqueue},
		{"the engine has thought better of it", []*pb.Decision{decision(wait, nil)}, v1beta1.PodGroupPending},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, "owners", func(owner *v1beta1.PodGroup) {
				owner.Status.Phase = v1beta1.PodGroupPending
				owner.Spec.MinResources = &corev1.ResourceList{} // one without is always admitted
			})
			refused := 0
			s.groups().PrependReactor("update", "podgroups", func(clienttesting.Action) (bool, runtime.Object, error) {
				refused++
				return refused == 1, nil, fmt.Errorf("out of date")
			})
			s.play(decision(start, onN1))
			if got := s.group("owner").Status.Phase; got != v1beta1.PodGroupPending || !s.action.Unsettled() {
				t.Fatalf("phase %q, unsettled %v", got, s.action.Unsettled())
			}
			s.cycle(c.decided...)
			if got := s.group("owner").Status.Phase; got != c.phase {
				t.Errorf("phase %q, expected %q", got, c.phase)
			}
			s.cycle()
			if s.action.admissions.unsettled() {
				t.Errorf("still asks for sessions: %v", s.action.admissions)
			}
		})
	}
}

// The engine says nothing more of a group that it admitted, until the group has pods.
func TestAGroupTakenForOutsideByASessionThatWasBehindIsAdmittedAgain(t *testing.T) {
	s := newStage(t, "owners", func(owner *v1beta1.PodGroup) {
		owner.Status.Phase = v1beta1.PodGroupPending
		owner.Spec.MinResources = &corev1.ResourceList{}
	})
	s.cycle(decision(start, onN1))
	for _, seen := range []v1beta1.PodGroupPhase{v1beta1.PodGroupRunning, v1beta1.PodGroupPending, v1beta1.PodGroupInqueue, v1beta1.PodGroupPending} {
		behind := s.group("owner")
		behind.Status.Phase = seen
		ok(t, s.Add(behind))
		s.cycle()
	}
	if got := s.group("owner").Status.Phase; got != v1beta1.PodGroupInqueue {
		t.Errorf("phase %q, expected %q", got, v1beta1.PodGroupInqueue)
	}
}

func TestAGroupThatLostPodsIsAdmittedAgain(t *testing.T) {
	s := newStage(t, "owners", func(owner *v1beta1.PodGroup) { owner.Spec.MinResources = &corev1.ResourceList{} })
	for _, decided := range [][]*pb.Decision{nil, {decision(wait, nil)}, nil} {
		lost := s.group("owner")
		lost.Status.Phase = v1beta1.PodGroupPending
		ok(t, s.Add(lost))
		s.cycle(decided...)
		if got := s.group("owner").Status.Phase; got != v1beta1.PodGroupInqueue {
			t.Errorf("phase %q, expected %q", got, v1beta1.PodGroupInqueue)
		}
	}
}
