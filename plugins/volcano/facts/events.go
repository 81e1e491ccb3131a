package facts

import "tephra.sh/volcano/tephrav1"

// The facts as events of the wire.

func queueUpserted(n news[*tephrav1.Queue], version uint64) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_QueueUpserted{
		QueueUpserted: &tephrav1.QueueUpserted{Queue: n.is, Version: version}}}
}

func nodeUpserted(n news[*tephrav1.Node], version uint64) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_NodeUpserted{
		NodeUpserted: &tephrav1.NodeUpserted{Node: n.is, Version: version}}}
}

func maskUpserted(n news[[]string], version uint64) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_MaskUpserted{
		MaskUpserted: &tephrav1.MaskUpserted{Name: n.name, ExcludedNodes: n.is, Version: version}}}
}

func domainUpserted(n news[*tephrav1.Domain], version uint64) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_DomainUpserted{
		DomainUpserted: &tephrav1.DomainUpserted{Domain: n.is, Version: version}}}
}

func disruptionBudgetUpserted(n news[int32], version uint64) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_DisruptionBudgetUpserted{
		DisruptionBudgetUpserted: &tephrav1.DisruptionBudgetUpserted{Name: n.name, Allowed: n.is, Version: version}}}
}

func jobUpserted(n news[*tephrav1.Job], version uint64) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_JobUpserted{
		JobUpserted: &tephrav1.JobUpserted{Job: n.is, Version: version}}}
}

func taskUpserted(n news[reportedTask], version uint64) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_TaskUpserted{
		TaskUpserted: &tephrav1.TaskUpserted{Task: n.is.fact, Version: version}}}
}

func queueRemoved(name string) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_QueueRemoved{
		QueueRemoved: &tephrav1.QueueRemoved{Name: name}}}
}

func nodeRemoved(name string) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_NodeRemoved{
		NodeRemoved: &tephrav1.NodeRemoved{Name: name}}}
}

func maskRemoved(name string) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_MaskRemoved{
		MaskRemoved: &tephrav1.MaskRemoved{Name: name}}}
}

func domainRemoved(name string) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_DomainRemoved{
		DomainRemoved: &tephrav1.DomainRemoved{Name: name}}}
}

func disruptionBudgetRemoved(name string) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_DisruptionBudgetRemoved{
		DisruptionBudgetRemoved: &tephrav1.DisruptionBudgetRemoved{Name: name}}}
}

func jobRemoved(uid string) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_JobRemoved{
		JobRemoved: &tephrav1.JobRemoved{Uid: uid}}}
}

func taskRemoved(uid string) *tephrav1.Event {
	return &tephrav1.Event{Fact: &tephrav1.Event_TaskRemoved{
		TaskRemoved: &tephrav1.TaskRemoved{Uid: uid}}}
}
