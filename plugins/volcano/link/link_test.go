package link

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "tephra.sh/volcano/tephrav1"
)

// cluster is a source of two facts at first, and of whatever is put into news after.
type cluster struct {
	news    []*pb.Event
	refused []string
}

func node(name string) *pb.Event {
	return &pb.Event{Fact: &pb.Event_NodeRemoved{NodeRemoved: &pb.NodeRemoved{Name: name}}}
}

func (c *cluster) Sync() []*pb.Event { c.news = nil; return []*pb.Event{node("a"), node("b")} }
func (c *cluster) Drain() []*pb.Event {
	news := c.news
	c.news = nil
	return news
}
func (c *cluster) Refused(event *pb.Event, message string) {
	c.refused = append(c.refused, event.GetNodeRemoved().GetName()+": "+message)
}

// script is an engine that answers as a test says, and notes what it received.
type script struct {
	pb.UnimplementedEngineServiceServer
	onHello   func(*pb.Hello) error
	onCycle   func(cycle int) *pb.ScheduleReply // nil: a plan
	onRequest func(*pb.CycleRequest)
	parts     []*pb.CycleReply // of the plan, in its place
	received  []string
	cycles    int
}

func (s *script) Schedule(stream pb.EngineService_ScheduleServer) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		switch content := request.GetContent().(type) {
		case *pb.ScheduleRequest_Hello:
			if s.onHello != nil {
				if err := s.onHello(content.Hello); err != nil {
					return err
				}
			}
			err = stream.Send(&pb.ScheduleReply{Content: &pb.ScheduleReply_Welcome{Welcome: &pb.Welcome{ProtocolVersion: 1, Epoch: 10}}})
		case *pb.ScheduleRequest_Facts:
			for _, event := range content.Facts.GetEvents() {
				s.received = append(s.received, event.GetNodeRemoved().GetName())
			}
			if content.Facts.GetSync() == pb.SyncMark_SYNC_MARK_BEGIN || content.Facts.GetSync() == pb.SyncMark_SYNC_MARK_WHOLE {
				s.received = append(s.received, "|")
			}
		case *pb.ScheduleRequest_Cycle:
			s.cycles++
			if s.onRequest != nil {
				s.onRequest(content.Cycle)
			}
			for i, part := range s.parts {
				part.Epoch, part.Sequence = content.Cycle.GetEpoch(), content.Cycle.GetSequence()
				if err = stream.Send(&pb.ScheduleReply{Content: &pb.ScheduleReply_Cycle{Cycle: part}}); err != nil {
					return err
				}
				if i == len(s.parts)-1 {
					return nil
				}
			}
			reply := (*pb.ScheduleReply)(nil)
			if s.onCycle != nil {
				reply = s.onCycle(s.cycles)
			}
			if reply == nil {
				reply = &pb.ScheduleReply{Content: &pb.ScheduleReply_Cycle{Cycle: &pb.CycleReply{
					Epoch: content.Cycle.GetEpoch(), Sequence: content.Cycle.GetSequence()}}}
			}
			if reply.GetRefused() != nil {
				s.cycles--
				s.onCycle = nil
				if err := stream.Send(reply); err != nil {
					return err
				}
				s.cycles++
				reply = &pb.ScheduleReply{Content: &pb.ScheduleReply_Cycle{Cycle: &pb.CycleReply{
					Epoch: content.Cycle.GetEpoch(), Sequence: content.Cycle.GetSequence()}}}
			}
			err = stream.Send(reply)
		}
		if err != nil {
			return err
		}
	}
}

func serve(t *testing.T, engine pb.EngineServiceServer) (*cluster, *Link) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	pb.RegisterEngineServiceServer(server, engine)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	source := &cluster{}
	l, err := New(Options{Socket: socket, Client: "test"}, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return source, l
}

func cycle(t *testing.T, l *Link) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err := l.Cycle(ctx, time.Unix(1, 0))
	return err
}

func TestFirstCycleTellsEverythingAndLaterOnesWhatIsNew(t *testing.T) {
	engine := &script{}
	source, l := serve(t, engine)
	for _, news := range [][]*pb.Event{nil, {node("c")}, nil} {
		source.news = news
		if err := cycle(t, l); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a", "b", "|", "c"}; !slices.Equal(engine.received, want) {
		t.Errorf("received %v, expected %v", engine.received, want)
	}
	if l.Syncs() != 1 {
		t.Errorf("%d syncs, expected 1", l.Syncs())
	}
}

func TestWhatIsSentAheadIsPartOfTheNextCycle(t *testing.T) {
	refusal := &pb.FactRefused{Sequence: 2, Message: "bad"}
	engine := &script{}
	source, l := serve(t, engine)
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	engine.onCycle = func(int) *pb.ScheduleReply {
		return &pb.ScheduleReply{Content: &pb.ScheduleReply_Refused{Refused: refusal}}
	}
	source.news = []*pb.Event{node("c")}
	if err := l.Tell(t.Context()); err != nil {
		t.Fatal(err)
	}
	source.news = []*pb.Event{node("d")}
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "|", "c", "d"}; !slices.Equal(engine.received, want) {
		t.Errorf("received %v, expected %v", engine.received, want)
	}
	if want := []string{"c: bad"}; !slices.Equal(source.refused, want) {
		t.Errorf("refused %v, expected %v", source.refused, want)
	}
}

func TestSendingAheadStartsOverWhenTheStreamWasLost(t *testing.T) {
	engine := &script{}
	source, l := serve(t, engine)
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	l.drop()
	if err := l.Tell(t.Context()); err != nil {
		t.Fatal(err)
	}
	source.news = []*pb.Event{node("c")}
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "|", "a", "b", "|", "c"}; !slices.Equal(engine.received, want) {
		t.Errorf("received %v, expected %v", engine.received, want)
	}
}

func TestAResyncIsAnsweredWithinTheSameCycle(t *testing.T) {
	engine := &script{onCycle: func(n int) *pb.ScheduleReply {
		if n == 1 {
			return &pb.ScheduleReply{Content: &pb.ScheduleReply_Resync{Resync: &pb.Resync{Epoch: 11, Why: "gap"}}}
		}
		return nil
	}}
	_, l := serve(t, engine)
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "|", "a", "b", "|"}; !slices.Equal(engine.received, want) {
		t.Errorf("received %v, expected %v", engine.received, want)
	}
}

func TestAnEngineThatIsNeverSatisfiedIsAnError(t *testing.T) {
	engine := &script{onCycle: func(n int) *pb.ScheduleReply {
		return &pb.ScheduleReply{Content: &pb.ScheduleReply_Resync{Resync: &pb.Resync{Epoch: uint64(10 + n)}}}
	}}
	_, l := serve(t, engine)
	if err := cycle(t, l); err == nil {
		t.Error("no error")
	}
}

func TestARefusedFactComesBackToItsSource(t *testing.T) {
	engine := &script{onCycle: func(int) *pb.ScheduleReply {
		return &pb.ScheduleReply{Content: &pb.ScheduleReply_Refused{Refused: &pb.FactRefused{Sequence: 1, Index: 1, Message: "no"}}}
	}}
	source, l := serve(t, engine)
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	if want := []string{"b: no"}; !slices.Equal(source.refused, want) {
		t.Errorf("refused %v, expected %v", source.refused, want)
	}
}

func TestAfterALostStreamEverythingIsSentAgain(t *testing.T) {
	engine := &script{}
	source, l := serve(t, engine)
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	l.drop()
	source.news = []*pb.Event{node("c")}
	if err := cycle(t, l); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "|", "a", "b", "|"}; !slices.Equal(engine.received, want) {
		t.Errorf("received %v, expected %v", engine.received, want)
	}
}

func TestALongSyncIsCutIntoMessagesWithABeginningAndAnEnd(t *testing.T) {
	for _, want := range []struct {
		first, last bool
		mark        pb.SyncMark
	}{{true, true, pb.SyncMark_SYNC_MARK_WHOLE}, {true, false, pb.SyncMark_SYNC_MARK_BEGIN},
		{false, false, pb.SyncMark_SYNC_MARK_UNSPECIFIED}, {false, true, pb.SyncMark_SYNC_MARK_END}} {
		if got := syncMark(want.first, want.last); got != want.mark {
			t.Errorf("first %v, last %v: %v, expected %v", want.first, want.last, got, want.mark)
		}
	}
}

func TestNoEngineIsAnErrorWithinTheTimeGiven(t *testing.T) {
	l, err := New(Options{Socket: filepath.Join(t.TempDir(), "absent.sock"), Client: "test"}, &cluster{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cycle(t, l); err == nil {
		t.Error("no error")
	}
}
