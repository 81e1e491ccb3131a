package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

func TestAClosedQueueStartsNothingUntilItIsOpenedAgain(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "first").Stays().Task("worker", 4, e2e.GPUs(8)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "first", batch.Running))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "second").Queue("production").Task("worker", 1, e2e.GPUs(8)).Object()))
	_, err := c.Condition(t.Context(), ns, "second", waits)
	ok(t, err)
	given[string](t)(c.Vcctl(t.Context(), "queue", "operate", "--action", "close", "--name", "production"))
	t.Cleanup(func() {
		_, _ = c.Vcctl(context.Background(), "queue", "operate", "--action", "open", "--name", "production")
	})
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		top, err := c.Engine.Tephra(ctx, "explain", "job/"+ns+"/second")
		if err == nil && !strings.Contains(top, "queue production is clos") {
			err = fmt.Errorf("tephra explain, expected the queue to be closing:\n%s", top)
		}
		return err
	}))
	ok(t, c.Delete(t.Context(), ns, "first"))
	// There is room for both now, and only the queue keeps the second from it.
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "third").Task("worker", 1, e2e.GPUs(8)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "third", batch.Running))
	if pods := given[[]core.Pod](t)(c.Pods(t.Context(), ns, "second")); len(pods) > 0 {
		t.Errorf("%d pods of a job whose queue is closed", len(pods))
	}
	given[string](t)(c.Vcctl(t.Context(), "queue", "operate", "--action", "open", "--name", "production"))
	ok(t, c.JobReaches(t.Context(), ns, "second", batch.Running))
}

// rowsWith counts the lines of a table that hold the text, its header aside.
func rowsWith(table, text string) (count int) {
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[1:] {
		if strings.Contains(line, text) {
			count++
		}
	}
	return count
}

func TestVcctlAndKubectlListSuspendResumeAndDeleteJobs(t *testing.T) {
	c, ns := on(t)
	for _, name := range []string{"one", "two"} {
		ok(t, c.Submit(t.Context(), e2e.Job(ns, name).Task("worker", 4, e2e.GPUs(4)).Object()))
		ok(t, c.JobReaches(t.Context(), ns, name, batch.Running))
	}
	if list := given[string](t)(c.Vcctl(t.Context(), "job", "list", "--namespace", ns)); rowsWith(list, "Running") != 2 {
		t.Errorf("vcctl job list, expected two that run:\n%s", list)
	}
	if list := given[string](t)(c.Kubectl(t.Context(), "", "get", "vcjob", "-n", ns)); rowsWith(list, "Running") != 2 {
		t.Errorf("kubectl get vcjob, expected two that run:\n%s", list)
	}
	given[string](t)(c.Vcctl(t.Context(), "job", "suspend", "--namespace", ns, "--name", "one"))
	ok(t, c.JobReaches(t.Context(), ns, "one", batch.Aborted))
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "three").Task("worker", 4, e2e.GPUs(4)).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "three", batch.Running))
	given[string](t)(c.Kubectl(t.Context(), "", "delete", "vcjob", "two", "-n", ns))
	given[string](t)(c.Vcctl(t.Context(), "job", "resume", "--namespace", ns, "--name", "one"))
	ok(t, c.JobReaches(t.Context(), ns, "one", batch.Running))
	given[string](t)(c.Vcctl(t.Context(), "job", "delete", "--namespace", ns, "--name", "one"))
	ok(t, c.Delete(t.Context(), ns, "one"))
}

func TestTephraExplainAndTopAnswerOfTheLiveEngine(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "vast").Task("worker", 5, e2e.GPUs(8)).Object()))
	_, err := c.Condition(t.Context(), ns, "vast", waits)
	ok(t, err)
	name := ns + "/vast"
	for _, text := range []string{
		given[string](t)(c.Engine.Tephra(t.Context(), "explain", name)),
		given[string](t)(c.Engine.Tephra(t.Context(), "explain", name, "--output", "wide")),
	} {
		if !strings.Contains(text, "room for 4 tasks") || !strings.Contains(text, name) {
			t.Errorf("tephra explain, expected room for 4 tasks:\n%s", text)
		}
	}
	var explained struct{ Job struct{ Name, Queue string } }
	ok(t, json.Unmarshal([]byte(given[string](t)(c.Engine.Tephra(t.Context(), "explain", name, "--output", "json"))), &explained))
	if explained.Job.Name != name || explained.Job.Queue != "research" {
		t.Errorf("tephra explain --output json: %+v, expected job %s of queue research", explained, name)
	}
	var state struct {
		Nodes []struct{ Name string }
		Jobs  []struct{ Name string }
	}
	ok(t, json.Unmarshal([]byte(given[string](t)(c.Engine.Tephra(t.Context(), "top", "--output", "json"))), &state))
	if len(state.Nodes) != 4 || len(state.Jobs) != 1 || state.Jobs[0].Name != name {
		t.Errorf("tephra top --output json: %+v, expected four nodes and %s", state, name)
	}
	if top := given[string](t)(c.Engine.Tephra(t.Context(), "top")); !strings.Contains(top, name) || !strings.Contains(top, "node-3") {
		t.Errorf("tephra top, expected all of it:\n%s", top)
	}
	if _, err := c.Engine.Tephra(t.Context(), "explain", ns+"/nothing"); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("%v, expected an error that names the job", err)
	}
}

func TestHyperNodesAndDisruptionBudgetsReachTheEngine(t *testing.T) {
	c, ns := on(t)
	ok(t, c.Submit(t.Context(), e2e.Job(ns, "guarded").Task("worker", 2, e2e.GPUs(1), labelled("app", "guarded")).Object()))
	ok(t, c.JobReaches(t.Context(), ns, "guarded", batch.Running))
	given[string](t)(c.Kubectl(t.Context(), `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"one"},
		"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"guarded"}}}}`, "apply", "-n", ns, "-f", "-"))
	guarded := map[string]int{ns + "/one": 1} // how many evictions each budget allows
	ok(t, budgetsAre(t, c, guarded))
	ok(t, e2e.Until(t.Context(), func(ctx context.Context) error {
		var explained struct {
			Tasks []struct{ DisruptionBudgets []string }
		}
		text, err := c.Engine.Tephra(ctx, "explain", ns+"/guarded", "--output", "json")
		if err != nil {
			return err
		}
		ok(t, json.Unmarshal([]byte(text), &explained))
		for _, task := range explained.Tasks {
			if strings.Join(task.DisruptionBudgets, ",") != ns+"/one" {
				return fmt.Errorf("%+v, expected both tasks to name the budget", explained)
			}
		}
		return nil
	}))
	given[string](t)(c.Kubectl(t.Context(), "", "delete", "pdb", "one", "-n", ns))
	ok(t, budgetsAre(t, c, map[string]int{}))

	var state struct {
		Domains []struct {
			Name, TierName string
			Tier           int
			Nodes, Domains []string
		}
	}
	ok(t, json.Unmarshal([]byte(given[string](t)(c.Engine.Tephra(t.Context(), "top", "--output", "json"))), &state))
	want := "[{Name:rack-0 TierName:rack Tier:1 Nodes:[node-0 node-1] Domains:[]} " +
		"{Name:rack-1 TierName:rack Tier:1 Nodes:[node-2 node-3] Domains:[]} " +
		"{Name:row-0 TierName:row Tier:2 Nodes:[] Domains:[rack-0 rack-1]}]"
	if got := fmt.Sprintf("%+v", state.Domains); got != want {
		t.Errorf("domains %s\nexpected %s", got, want)
	}
}

// budgetsAre is about the budgets of tests: the scheduler has one of its own.
func budgetsAre(t *testing.T, c *e2e.Cluster, want map[string]int) error {
	return e2e.Until(t.Context(), func(ctx context.Context) error {
		var state struct {
			DisruptionBudgets []struct {
				Name    string
				Allowed int
			}
		}
		text, err := c.Engine.Tephra(ctx, "top", "--output", "json")
		if err != nil {
			return err
		}
		ok(t, json.Unmarshal([]byte(text), &state))
		got := map[string]int{}
		for _, budget := range state.DisruptionBudgets {
			if !strings.HasPrefix(budget.Name, "tephra-system/") {
				got[budget.Name] = budget.Allowed
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("disruption budgets %v, expected %v", got, want)
		}
		return nil
	})
}
