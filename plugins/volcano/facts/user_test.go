package facts

import (
	"testing"

	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/volcano/annotations"
)

func TestAJobIsTheUsersThatItsGroupNames(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	group := func(user string) *schedulingv1beta1.PodGroup {
		return someGroup("g", 1, func(g *schedulingv1beta1.PodGroup) {
			if user != "-" {
				mark(&g.ObjectMeta, map[string]string{annotations.UserKey: user})
			}
		})
	}
	for _, test := range []struct{ says, user, problem string }{
		{"-", "", ""},
		{"ada", "ada", ""},
		{"", "", `PodGroup "team/g": metadata.annotations[tephra.sh/user]: "", expected a name of 1 to 253 bytes, printable and without spaces around it`},
		{"bob@example.com", "bob@example.com", ""},
		{"-", "", ""},
	} {
		feed.setGroup(group(test.says))
		feed.setPod(somePod("p", "g"))
		if got := wholeModel(t, feed).jobs["group-g"].GetUser(); got != test.user {
			t.Errorf("%q: user %q, expected %q", test.says, got, test.user)
		}
		problems := feed.Problems()
		if (test.problem == "") != (len(problems) == 0) ||
			len(problems) > 0 && (problems[0].Error() != test.problem || problems[0].Job != "") {
			t.Errorf("%q: problems %v, expected %q", test.says, problems, test.problem)
		}
	}
	feed.setGroup(group("\n"))
	feed.dropGroup(feed.groupsOf["group-g"].obj)
	if problems := feed.Problems(); len(problems) > 0 {
		t.Errorf("problems of what is gone: %v", problems)
	}
}

// Volcano copies a Job's annotations when it makes the group, and not again; what the group says counts.
func TestAnotherUserOfAJobThatWaitsIsReportedAtOnce(t *testing.T) {
	feed := idleFeed(t, Options{Admit: true})
	said := func(user string) func(*schedulingv1beta1.PodGroup) {
		return func(g *schedulingv1beta1.PodGroup) {
			mark(&g.ObjectMeta, map[string]string{annotations.UserKey: user})
		}
	}
	feed.setGroup(someGroup("g", 1, said("ada")))
	feed.setPod(somePod("p", "g"))
	feed.Sync()
	feed.setGroup(someGroup("g", 1, said("bob")))
	events := feed.Drain()
	if len(events) != 1 || events[0].GetJobUpserted().GetJob().GetUser() != "bob" {
		t.Errorf("reported %v, expected the job of bob alone", events)
	}
}
