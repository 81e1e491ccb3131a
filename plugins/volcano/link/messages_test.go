package link

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "tephra.sh/volcano/tephrav1"
)

func sized(bytes int) *pb.Event { return node(strings.Repeat("x", bytes)) }

func TestMessagesAreCutByBytesAndByEvents(t *testing.T) {
	var events []*pb.Event
	for range 60 {
		events = append(events, sized(1200000))
	}
	for range 3 * eventsPerMessage {
		events = append(events, node("small"))
	}
	var order []*pb.Event
	for _, message := range cut(events, func(*pb.Event, string) { t.Error("an event was left out") }) {
		facts := &pb.Facts{Events: message.wire}
		if size := proto.Size(facts); size > bytesPerMessage+1000*1000 || len(message.wire) > eventsPerMessage {
			t.Errorf("a message of %d bytes and %d events", size, len(message.wire))
		}
		order = append(order, message.events...)
	}
	if len(order) != len(events) {
		t.Fatalf("%d events, expected %d", len(order), len(events))
	}
	for i := range order {
		if order[i] != events[i] {
			t.Fatalf("event %d is out of order", i)
		}
	}
}

func TestAFactThatNoMessageHoldsComesBackToItsSourceAndTheOthersAreSent(t *testing.T) {
	engine := &script{}
	source, l := serve(t, engine)
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	source.news = []*pb.Event{node("c"), sized(maxEventBytes + 1), node("d")}
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(engine.received, ""); got != "ab|cd" {
		t.Errorf("received %.60s", got)
	}
	if len(source.refused) != 1 || !strings.Contains(source.refused[0], "expected at most 33554432 bytes") {
		t.Errorf("refused %d facts", len(source.refused))
	}
}

func TestATemplateOfManyRolesIsSentOnce(t *testing.T) {
	shared := &pb.PodTemplate{UserId: 1, Constraints: &pb.NodeConstraints{Mask: strings.Repeat("x", 1400)}}
	own := &pb.PodTemplate{UserId: 2}
	gang := &pb.Gang{MinMember: 3, Groups: []*pb.Group{{Name: "g"}}}
	for range 5000 {
		gang.Roles = append(gang.Roles, &pb.Role{Name: "r", Replicas: 1, Min: 1, Pod: shared, Group: "g"})
	}
	gang.Roles = append(gang.Roles, &pb.Role{Name: "own", Replicas: 2, Pod: own})
	job := &pb.Job{Uid: "u", Name: "n", Queue: "q", Priority: 7, PodsExist: true, Gang: gang}
	event := &pb.Event{Fact: &pb.Event_JobUpserted{JobUpserted: &pb.JobUpserted{Job: job, Version: 9}}}
	wire := sharedTemplates(event)
	if size := proto.Size(wire); size > 200000 {
		t.Errorf("%d bytes", size)
	}
	// What the engine makes of it is what the event says.
	read := proto.Clone(wire).(*pb.Event).GetJobUpserted()
	for _, role := range read.Job.Gang.Roles {
		if role.TemplateNumber != 0 {
			role.Pod, role.TemplateNumber = read.Job.Gang.Templates[role.TemplateNumber-1], 0
		}
	}
	read.Job.Gang.Templates = nil
	if !proto.Equal(read, event.GetJobUpserted()) {
		t.Error("the wire says something else")
	}
	if gang.Roles[0].Pod != shared || len(gang.Templates) != 0 {
		t.Error("the event of the source was changed")
	}
}

func TestAPlanInSeveralMessagesIsOne(t *testing.T) {
	engine := &script{parts: []*pb.CycleReply{
		{Plan: &pb.Plan{Decisions: []*pb.Decision{{Job: "a"}}}, More: true},
		{Plan: &pb.Plan{Decisions: []*pb.Decision{{Job: "b"}}}, Notes: []*pb.Note{{Job: "a"}}, More: true},
		{Plan: &pb.Plan{Version: 3, Dropped: []string{"c"}}, Notes: []*pb.Note{{Job: "b"}}},
	}}
	_, l := serve(t, engine)
	reply, err := l.Cycle(t.Context(), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.CycleReply{Epoch: 10, Sequence: 1, Plan: &pb.Plan{Version: 3, Decisions: []*pb.Decision{{Job: "a"}, {Job: "b"}}, Dropped: []string{"c"}},
		Notes: []*pb.Note{{Job: "a"}, {Job: "b"}}}
	if !proto.Equal(reply, want) {
		t.Errorf("got %v", reply)
	}
}
