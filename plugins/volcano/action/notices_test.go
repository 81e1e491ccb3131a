package action

import (
	"fmt"
	"testing"
	"time"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

func TestWhatIsWrittenAndDoesNotArriveIsLostAfterAWhile(t *testing.T) {
	wrote := time.Unix(1000, 0)
	known := &notice{obstacle: "Room", text: "no room"}
	if known.lost(&api.PodGroup{}, wrote.Add(time.Hour)) {
		t.Error("lost, and nothing was written")
	}
	known.remember(wrote)
	group := &api.PodGroup{}
	for _, one := range []struct {
		conditions []scheduling.PodGroupCondition
		after      time.Duration
		lost       bool
	}{
		{nil, lostAfter - time.Millisecond, false},
		{nil, lostAfter, true},
		{[]scheduling.PodGroupCondition{{Type: ConditionType, Reason: "Room", Message: "no room"}}, time.Hour, false},
		{[]scheduling.PodGroupCondition{{Type: ConditionType, Reason: "Room", Message: "of before"}}, lostAfter, true},
		{[]scheduling.PodGroupCondition{{Type: ConditionType, Reason: "Gate", Message: "no room"}}, lostAfter, true},
		{[]scheduling.PodGroupCondition{{Type: "Scheduled", Reason: "Room", Message: "no room"}}, lostAfter, true},
	} {
		group.Status.Conditions = one.conditions
		if got := known.lost(group, wrote.Add(one.after)); got != one.lost {
			t.Errorf("%v after %v: lost %v, expected %v", one.conditions, one.after, got, one.lost)
		}
	}
}

func TestThatPodsAreMissingIsSaidOnceItHasStoodForAWhile(t *testing.T) {
	stands := time.Unix(1000, 0)
	for _, one := range []struct {
		known notice
		after time.Duration
		due   bool
	}{
		{notice{obstacle: membersMissing}, lookAgain - time.Millisecond, false},
		{notice{obstacle: membersMissing}, lookAgain, true},
		{notice{obstacle: "Room"}, 0, true},
		{notice{placed: true}, 0, true},
	} {
		one.known.stands = stands
		if got := one.known.due(stands.Add(one.after)); got != one.due {
			t.Errorf("%+v after %v: due %v, expected %v", one.known, one.after, got, one.due)
		}
	}
}

func TestTheConditionOfAGroupDoesNotDependOnWhichTaskIsLookedAtFirst(t *testing.T) {
	said := map[string]bool{}
	for range 50 {
		gang := api.NewJobInfo("team/g")
		gang.PodGroup = &api.PodGroup{}
		for i := range 8 {
			name := fmt.Sprintf("g-%d", i)
			gang.AddTaskInfo(&api.TaskInfo{UID: api.TaskID(name), Name: name, Job: "team/g", Resreq: api.EmptyResource(),
				TransactionContext: api.TransactionContext{Status: api.Pending}})
		}
		tellPods(gang, "no room")
		said[gang.FitError()] = true
	}
	if len(said) != 1 {
		t.Errorf("%d texts: %v", len(said), said)
	}
}
