package facts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"tephra.sh/volcano/tephrav1"
)

// model takes facts as the engine does, with its rules for what comes after what, and keeps them by
// name.
type model struct {
	kinds   []string
	queues  map[string]*tephrav1.Queue
	nodes   map[string]*tephrav1.Node
	masks   map[string][]string
	domains map[string]*tephrav1.Domain
	budgets map[string]int32
	jobs    map[string]*tephrav1.Job
	tasks   map[string]*tephrav1.Task
	version uint64
}

func newModel() *model {
	return &model{queues: map[string]*tephrav1.Queue{}, nodes: map[string]*tephrav1.Node{},
		masks: map[string][]string{}, domains: map[string]*tephrav1.Domain{}, budgets: map[string]int32{}, jobs: map[string]*tephrav1.Job{}, tasks: map[string]*tephrav1.Task{}}
}

func (m *model) apply(events []*tephrav1.Event) error {
	for i, event := range events {
		if err := m.applyOne(event); err != nil {
			return fmt.Errorf("event %d, %s: %w", i, prototext.MarshalOptions{}.Format(event), err)
		}
	}
	return nil
}

func (m *model) applyOne(event *tephrav1.Event) error {
	switch fact := event.Fact.(type) {
	case *tephrav1.Event_KindsDeclared:
		names := fact.KindsDeclared.Names
		if len(names) < len(m.kinds) || !slices.Equal(names[:len(m.kinds)], m.kinds) {
			return fmt.Errorf("kinds were %v", m.kinds)
		}
		m.kinds = names
	case *tephrav1.Event_QueueUpserted:
		m.queues[fact.QueueUpserted.Queue.Name] = fact.QueueUpserted.Queue
		return m.newer(fact.QueueUpserted.Version)
	case *tephrav1.Event_QueueRemoved:
		delete(m.queues, fact.QueueRemoved.Name)
	case *tephrav1.Event_NodeUpserted:
		m.nodes[fact.NodeUpserted.Node.Name] = fact.NodeUpserted.Node
		return m.newer(fact.NodeUpserted.Version)
	case *tephrav1.Event_NodeRemoved:
		delete(m.nodes, fact.NodeRemoved.Name)
	case *tephrav1.Event_MaskUpserted:
		m.masks[fact.MaskUpserted.Name] = fact.MaskUpserted.ExcludedNodes
		return m.newer(fact.MaskUpserted.Version)
	case *tephrav1.Event_MaskRemoved:
		delete(m.masks, fact.MaskRemoved.Name)
	case *tephrav1.Event_DomainUpserted:
		m.domains[fact.DomainUpserted.Domain.Name] = fact.DomainUpserted.Domain
		return m.newer(fact.DomainUpserted.Version)
	case *tephrav1.Event_DomainRemoved:
		delete(m.domains, fact.DomainRemoved.Name)
	case *tephrav1.Event_DisruptionBudgetUpserted:
		m.budgets[fact.DisruptionBudgetUpserted.Name] = fact.DisruptionBudgetUpserted.Allowed
		return m.newer(fact.DisruptionBudgetUpserted.Version)
	case *tephrav1.Event_DisruptionBudgetRemoved:
		delete(m.budgets, fact.DisruptionBudgetRemoved.Name)
	case *tephrav1.Event_JobUpserted:
		m.jobs[fact.JobUpserted.Job.Uid] = fact.JobUpserted.Job
		m.dropUnplaced(fact.JobUpserted.Job.Uid)
		return m.newer(fact.JobUpserted.Version)
	case *tephrav1.Event_JobRemoved:
		delete(m.jobs, fact.JobRemoved.Uid)
		m.dropUnplaced(fact.JobRemoved.Uid)
	case *tephrav1.Event_TaskUpserted:
		return m.upsertTask(fact.TaskUpserted)
	case *tephrav1.Event_TaskRemoved:
		delete(m.tasks, fact.TaskRemoved.Uid)
	default:
		return fmt.Errorf("not a fact of a feed")
	}
	return nil
}

func (m *model) newer(version uint64) error {
	if version <= m.version {
		return fmt.Errorf("version %d after %d", version, m.version)
	}
	m.version = version
	return nil
}

func (m *model) has(task *tephrav1.Task) bool {
	for _, role := range m.jobs[task.Job].GetGang().GetRoles() {
		if role.Name == task.Role {
			return task.Index < role.Replicas
		}
	}
	return false
}

// dropUnplaced: pods that wait and whose place is gone are forgotten; pods that run go on without it.
func (m *model) dropUnplaced(job string) {
	for uid, task := range m.tasks {
		if task.Job == job && task.Node == "" && !m.has(task) {
			delete(m.tasks, uid)
		}
	}
}

func (m *model) upsertTask(upsert *tephrav1.TaskUpserted) error {
	task := upsert.Task
	if task.Job == "" && task.Pod == nil {
		return fmt.Errorf("a foreign pod without its load")
	}
	if task.Job != "" && !m.has(task) {
		return fmt.Errorf("no such place")
	}
	for uid, other := range m.tasks {
		if uid != task.Uid && task.Job != "" && other.Job == task.Job && other.Role == task.Role &&
			other.Index == task.Index && m.has(other) {
			delete(m.tasks, uid)
		}
	}
	m.tasks[task.Uid] = task
	return m.newer(upsert.Version)
}

// lines are the model as text, one object a line.
func (m *model) lines() map[string]string { return m.linesOf(m.kinds) }

// linesOf are the lines with only those extended kinds, numbered by name, so that feeds that
// numbered them differently compare equal.
func (m *model) linesOf(kinds []string) map[string]string {
	out := map[string]string{}
	add := func(kind, name string, message proto.Message) {
		out[kind+" "+name] = prototext.MarshalOptions{}.Format(spelt(message, m.kinds, kinds))
	}
	for name, queue := range m.queues {
		add("queue", name, queue)
	}
	for name, node := range m.nodes {
		add("node", name, node)
	}
	for name, mask := range m.masks {
		out["mask "+name] = strings.Join(mask, " ")
	}
	for name, domain := range m.domains {
		add("domain", name, domain)
	}
	for name, allowed := range m.budgets {
		out["budget "+name] = fmt.Sprint(allowed)
	}
	for uid, job := range m.jobs {
		add("job", uid, job)
	}
	for uid, task := range m.tasks {
		add("task", uid, task)
	}
	for key, line := range out {
		out[key] = strings.Join(strings.Fields(line), " ") // prototext varies its spaces
	}
	return out
}

func spelt(message proto.Message, known, wanted []string) proto.Message {
	sorted := slices.Sorted(slices.Values(wanted))
	number := func(kind uint32) int {
		if kind < firstExtended {
			return int(kind)
		}
		at := slices.Index(sorted, known[kind-firstExtended])
		if at < 0 {
			return -1
		}
		return firstExtended + at
	}
	amounts := func(list []*tephrav1.Amount) []*tephrav1.Amount {
		list = slices.DeleteFunc(list, func(a *tephrav1.Amount) bool { return number(a.Kind) < 0 })
		for _, amount := range list {
			amount.Kind = uint32(number(amount.Kind))
		}
		slices.SortFunc(list, func(a, b *tephrav1.Amount) int { return int(a.Kind) - int(b.Kind) })
		return list
	}
	load := func(pod *tephrav1.PodTemplate) {
		if pod == nil {
			return
		}
		pod.Overhead = amounts(pod.Overhead)
		for _, container := range pod.Containers {
			container.Requests = amounts(container.Requests)
		}
	}
	out := proto.Clone(message)
	switch typed := out.(type) {
	case *tephrav1.Node:
		typed.Allocatable = amounts(typed.Allocatable)
	case *tephrav1.Queue:
		typed.Limit = amounts(typed.Limit)
		typed.Guarantee, typed.Deserved = amounts(typed.Guarantee), amounts(typed.Deserved)
		for i := range typed.LimitedKinds {
			typed.LimitedKinds[i] = uint32(number(typed.LimitedKinds[i])) // both know them
		}
		slices.Sort(typed.LimitedKinds)
	case *tephrav1.Job:
		for _, role := range typed.Gang.Roles {
			load(role.Pod)
		}
	case *tephrav1.Task:
		load(typed.Pod)
	}
	return out
}

// difference is what one has and the other has not, or has otherwise; empty: they are equal.
func difference(a, b map[string]string) string {
	var out strings.Builder
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range sortedKeys(keys) {
		if a[key] != b[key] {
			fmt.Fprintf(&out, "%s\n  - %s\n  + %s\n", key, a[key], b[key])
		}
	}
	return out.String()
}
