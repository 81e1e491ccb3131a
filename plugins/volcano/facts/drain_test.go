package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"tephra.sh/volcano/tephrav1"
)

// freshFeed has just learnt the cluster, kind by kind.
func (h *history) freshFeed(t *testing.T, options Options) *Feed {
	feed := idleFeed(t, options)
	h.tell(handlers{feed})
	return feed
}

func (h *history) tell(to cluster) {
	for _, name := range sortedKeys(h.pods) {
		to.put(h.pods[name])
	}
	for _, name := range sortedKeys(h.groups) {
		to.put(h.groups[name])
	}
	for _, name := range sortedKeys(h.jobs) {
		to.put(h.jobs[name])
	}
	for _, name := range sortedKeys(h.prios) {
		to.put(h.prios[name])
	}
	for _, name := range sortedKeys(h.queues) {
		to.put(h.queues[name])
	}
	for _, name := range sortedKeys(h.pdbs) {
		to.put(h.pdbs[name])
	}
	for _, name := range sortedKeys(h.hypers) {
		to.put(h.hypers[name])
	}
	for _, name := range sortedKeys(h.nodes) {
		to.put(h.nodes[name])
	}
}

// A Sync of the same feed is the sum of all that it drained, to the letter. One of a feed that has
// just learnt the cluster is so too, but for groups whose pods were all there once.
func TestWhatIsDrainedAddsUpToASync(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		h := newHistory(uint64(seed))
		options := Options{Admit: seed%2 == 0, DomainLabels: []string{"row", "shelf", "slot"}}
		feed, drained := idleFeed(t, options), newModel()
		for i := range 150 {
			h.step(handlers{feed})
			if h.IntN(4) > 0 {
				continue
			}
			for _, class := range feed.MaskedClasses() {
				feed.SetMask(class.Name, []string{h.name("node", 5)})
			}
			if err := drained.apply(feed.Drain()); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
		if err := drained.apply(feed.Drain()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again := feed.Drain(); len(again) > 0 {
			t.Fatalf("seed %d: drained and drained again: %v", seed, again)
		}
		unlike := func(problem Problem) bool { return feed.wasComplete(problem.Job) }
		known, others := feed.Problems(), h.freshProblems(t, options)
		if !slices.Equal(slices.DeleteFunc(known, unlike), slices.DeleteFunc(others, unlike)) {
			t.Fatalf("seed %d: problems %v\nof a fresh feed %v", seed, known, others)
		}
		if diff := difference(drained.lines(), wholeModel(t, feed).lines()); diff != "" {
			t.Fatalf("seed %d: drained (-) and synced (+) differ:\n%s", seed, diff)
		}
		fresh := wholeModel(t, h.freshFeed(t, options))
		fresh.masks = drained.masks
		if diff := difference(comparison(drained, drained, fresh, feed), comparison(fresh, drained, fresh, feed)); diff != "" {
			t.Fatalf("seed %d: drained (-) and of a fresh feed (+) differ:\n%s", seed, diff)
		}
	}
}

func (h *history) freshProblems(t *testing.T, options Options) []Problem {
	feed := h.freshFeed(t, options)
	feed.Sync()
	return feed.Problems()
}

// wasComplete: the group is one whose pods were all there once, so that each of them may be what is
// wrong, and not only those by which a fresh feed guesses it.
func (f *Feed) wasComplete(job string) bool {
	g := f.groupsOf[job]
	return g != nil && g.complete
}

// comparison leaves out what a fresh feed cannot know: jobs whose pods were all there once, with
// their tasks, the index of a task, which says which pod was there first, and kinds of resources that
// only one of the two was ever asked for.
func comparison(m, drained, fresh *model, feed *Feed) map[string]string {
	out := newModel()
	out.kinds, out.queues, out.nodes, out.masks = m.kinds, m.queues, m.nodes, m.masks
	out.domains, out.budgets = m.domains, m.budgets
	skip := map[string]bool{}
	for uid, job := range drained.jobs {
		skip[uid] = job.PodsExist && !fresh.jobs[uid].GetPodsExist()
	}
	for uid := range fresh.jobs {
		skip[uid] = skip[uid] || drained.jobs[uid] == nil && feed.wasComplete(uid) // one of its pods is refused
	}
	for uid, job := range m.jobs {
		if skip[uid] {
			continue
		}
		out.jobs[uid] = proto.Clone(job).(*tephrav1.Job)
		for _, role := range out.jobs[uid].Gang.Roles {
			if job.PodsExist {
				role.Replicas, role.Min = 0, 0 // they follow from the highest index
			}
		}
	}
	for uid, task := range m.tasks {
		if skip[drained.tasks[uid].GetJob()] || skip[fresh.tasks[uid].GetJob()] {
			continue
		}
		numberless := &tephrav1.Task{Uid: task.Uid, Job: task.Job, Role: task.Role, Phase: task.Phase,
			Node: task.Node, Slices: task.Slices, Pod: task.Pod, DisruptionBudgets: task.DisruptionBudgets}
		out.tasks[uid] = numberless
	}
	kinds := slices.DeleteFunc(slices.Clone(fresh.kinds), func(kind string) bool {
		return !slices.Contains(drained.kinds, kind)
	})
	out.joinMembers(kinds)
	return out.linesOf(kinds)
}

// joinMembers makes one role of roles that differ only in kinds that are not wanted.
func (m *model) joinMembers(wanted []string) {
	for uid, job := range m.jobs {
		names, byPod := map[string]string{}, map[string]string{}
		roles := job.Gang.Roles
		job.Gang.Roles = nil
		for _, role := range roles {
			if !strings.HasPrefix(role.Name, memberRole) {
				job.Gang.Roles = append(job.Gang.Roles, role)
				continue
			}
			pod := string(mustMarshal(spelt(&tephrav1.Task{Pod: role.Pod}, m.kinds, wanted)))
			if byPod[pod] == "" {
				byPod[pod] = fmt.Sprintf("%s#%d", memberRole, len(byPod)+1)
				job.Gang.Roles = append(job.Gang.Roles, role)
			}
			names[role.Name] = byPod[pod]
			role.Name = byPod[pod]
		}
		for _, task := range m.tasks {
			if name := names[task.Role]; task.Job == uid && name != "" {
				task.Role = name
			}
		}
	}
}

// A feed that forgets from time to time says the same in the next Sync, and the same problems.
func TestWhatIsForgottenIsInTheNextSync(t *testing.T) {
	for seed := range 40 {
		h, same := newHistory(uint64(seed)), newHistory(uint64(seed))
		feed, other := idleFeed(t, Options{Admit: true}), idleFeed(t, Options{Admit: true})
		for i := range 150 {
			h.step(handlers{feed})
			same.step(handlers{other})
			if i%10 == 0 {
				feed.Forget()
				other.Drain()
			}
		}
		if diff := difference(wholeModel(t, feed).lines(), wholeModel(t, other).lines()); diff != "" {
			t.Fatalf("seed %d: of a feed that forgot (-) and of another (+):\n%s", seed, diff)
		}
		if got, want := feed.DrainProblems(), other.DrainProblems(); !slices.Equal(got, want) {
			t.Fatalf("seed %d: problems %v\nof a feed that forgot nothing %v", seed, got, want)
		}
		feed.Forget()
		if feed.Drain(); len(feed.Moved()) > 0 || len(feed.problems.changed) > 0 {
			t.Fatalf("seed %d: it kept %v", seed, feed.problems.changed)
		}
	}
}
