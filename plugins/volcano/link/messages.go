package link

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "tephra.sh/volcano/tephrav1"
)

const (
	// A message of facts ends with the event that takes it to one of these.
	eventsPerMessage = 2000
	bytesPerMessage  = 4 << 20
	// One event is sent whole, so it may not come near what the engine reads in a message (64 MiB) or writes into
	// a record of its journal (the same).
	maxEventBytes = 32 << 20
	// The engine cuts a plan between two decisions, so one decision of 65,536 tasks has to fit into a message.
	maxReplyBytes = 256 << 20
)

// message is what one Facts message holds: the events as the source gave them, and as they are sent.
type message struct {
	events, wire []*pb.Event
}

// cut puts the events into messages that the engine can read, in the same order. An event that is too
// large even alone is left out and given to `tooLarge`.
func cut(events []*pb.Event, tooLarge func(event *pb.Event, why string)) []message {
	var out []message
	var bytes int
	for _, event := range events {
		wire := sharedTemplates(event)
		size := proto.Size(wire)
		if size > maxEventBytes {
			tooLarge(event, fmt.Sprintf("it takes %d bytes to describe to the engine, expected at most %d bytes", size, maxEventBytes))
			continue
		}
		last := len(out) - 1
		if last < 0 || len(out[last].wire) == eventsPerMessage || bytes+size > bytesPerMessage {
			out, bytes = append(out, message{}), 0
			last++
		}
		out[last].events, out[last].wire = append(out[last].events, event), append(out[last].wire, wire)
		bytes += size
	}
	return out
}

// sharedTemplates is the event with each pod template once, however many roles of a job have it.
func sharedTemplates(event *pb.Event) *pb.Event {
	upserted := event.GetJobUpserted()
	roles := upserted.GetJob().GetGang().GetRoles()
	users := map[*pb.PodTemplate]int{}
	for _, role := range roles {
		users[role.GetPod()]++
	}
	if len(users) == len(roles) {
		return event
	}
	gang := &pb.Gang{MinMember: upserted.Job.Gang.MinMember, Groups: upserted.Job.Gang.Groups}
	number := map[*pb.PodTemplate]uint32{}
	for _, role := range roles {
		wire := &pb.Role{Name: role.Name, Replicas: role.Replicas, Min: role.Min, Group: role.Group}
		if users[role.Pod] == 1 {
			wire.Pod = role.Pod
		} else {
			if number[role.Pod] == 0 {
				gang.Templates = append(gang.Templates, role.Pod)
				number[role.Pod] = uint32(len(gang.Templates))
			}
			wire.TemplateNumber = number[role.Pod]
		}
		gang.Roles = append(gang.Roles, wire)
	}
	job := &pb.Job{}
	from, to := upserted.Job.ProtoReflect(), job.ProtoReflect()
	from.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		to.Set(field, value)
		return true
	})
	job.Gang = gang
	return &pb.Event{Fact: &pb.Event_JobUpserted{JobUpserted: &pb.JobUpserted{Job: job, Version: upserted.Version}}}
}
