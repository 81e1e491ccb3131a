// Package link is the scheduler's end of the engine's Schedule stream: it tells the engine what a
// Source has learnt, asks for a plan, and starts over with a full sync whenever either side lost
// the thread. The conversation is described in sidecar/proto/tephra/v1/service.proto.
package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"

	pb "tephra.sh/volcano/tephrav1"
)

const (
	protocolVersion = 1
	// An engine that asks for a new sync this often within one cycle will not be satisfied.
	maxSyncsPerCycle = 3
)

// Source is where facts come from.
type Source interface {
	// Sync returns everything that is true now, and forgets what Drain would have returned.
	Sync() []*pb.Event
	// Drain returns what has been learnt since the last Sync or Drain.
	Drain() []*pb.Event
	// Refused reports an event that the engine would not take.
	Refused(event *pb.Event, message string)
}

// Options of a link.
type Options struct {
	Socket string // Unix socket of the engine
	// Engine, if set, is where calls go instead of the socket.
	Engine pb.EngineServiceClient
	Client string // names this process to the engine
	// LeaseTerm is how often the leader election lease has changed hands; nil: there is no leader election. The
	// engine leaves an older scheduler for one with a higher term.
	LeaseTerm func() uint64
}

// Link keeps one stream to one engine. One goroutine may use it at a time.
type Link struct {
	options Options
	source  Source
	conn    *grpc.ClientConn // nil: calls go to an engine that has no socket
	calls   pb.EngineServiceClient

	stream   pb.EngineService_ScheduleClient // nil: not connected
	cancel   context.CancelFunc
	engine   string
	epoch    uint64
	sequence uint64
	synced   bool
	syncs    int64
	sent     []batch // since the last plan
	clock    clock
	steady   func() time.Duration // since the start, by a clock that is never set
}

// New prepares a link to the engine that listens on a Unix socket. It connects with the first
// cycle, and again whenever the stream was lost.
func New(options Options, source Source) (*Link, error) {
	if options.LeaseTerm == nil {
		options.LeaseTerm = func() uint64 { return 0 }
	}
	began := time.Now()
	l := &Link{options: options, source: source, calls: options.Engine, steady: func() time.Duration { return time.Since(began) }}
	if l.calls != nil {
		return l, nil
	}
	conn, err := grpc.NewClient("unix:"+options.Socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReplyBytes)))
	if err != nil {
		return nil, fmt.Errorf("engine socket %q: %w", options.Socket, err)
	}
	l.conn, l.calls = conn, pb.NewEngineServiceClient(conn)
	return l, nil
}

// Calls are for questions beside the stream, by any goroutine.
func (l *Link) Calls() pb.EngineServiceClient { return l.calls }

// Close ends the stream and the connection.
func (l *Link) Close() error {
	l.drop()
	if l.conn == nil {
		return nil
	}
	return l.conn.Close()
}

// Syncs returns how many full syncs the engine has been sent.
func (l *Link) Syncs() int64 { return l.syncs }

// Tell sends what is new ahead of the next Cycle, which then has less to say. On an error the stream
// is dropped, and Cycle starts over.
func (l *Link) Tell(ctx context.Context) error {
	return l.within(ctx, l.tell)
}

// Cycle tells the engine what is new and returns its plan. On an error the stream is dropped and
// the next call starts with a full sync; what the engine planned meanwhile is void.
func (l *Link) Cycle(ctx context.Context, now time.Time) (*pb.CycleReply, error) {
	var reply *pb.CycleReply
	err := l.within(ctx, func() (err error) {
		reply, err = l.cycle(now)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.sent = nil
	return reply, nil
}

// within does its part of the conversation on a stream, and drops that on an error.
func (l *Link) within(ctx context.Context, talk func() error) error {
	if l.stream == nil {
		if err := l.connect(ctx); err != nil {
			return err
		}
	}
	// The stream outlives the call, so it cannot have the call's context.
	stop := context.AfterFunc(ctx, l.cancel)
	err := talk()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer in time: %w", err)
		}
		l.drop()
	}
	return err
}

func (l *Link) connect(ctx context.Context) error {
	streamCtx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	stream, err := l.calls.Schedule(streamCtx)
	if err == nil {
		err = stream.Send(&pb.ScheduleRequest{Content: &pb.ScheduleRequest_Hello{
			Hello: &pb.Hello{ProtocolVersion: protocolVersion, Client: l.options.Client, LeaseTerm: l.options.LeaseTerm()}}})
	}
	var reply *pb.ScheduleReply
	if err == nil || errors.Is(err, io.EOF) {
		reply, err = stream.Recv() // where Send failed, this has the reason
	}
	if err == nil && reply.GetWelcome() == nil {
		err = fmt.Errorf("expected a welcome, got %T", reply.GetContent())
	}
	if err == nil && reply.GetWelcome().GetProtocolVersion() != protocolVersion {
		err = fmt.Errorf("engine speaks protocol version %d, expected %d",
			reply.GetWelcome().GetProtocolVersion(), protocolVersion)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return err
	}
	l.stream, l.cancel = stream, cancel
	l.engine = reply.GetWelcome().GetEngine()
	l.startEpoch(reply.GetWelcome().GetEpoch())
	klog.InfoS("Connected to the engine", "engine", l.engine, "epoch", l.epoch)
	return nil
}

func (l *Link) startEpoch(epoch uint64) {
	l.epoch, l.sequence, l.synced, l.sent = epoch, 0, false, nil
}

func (l *Link) drop() {
	if l.stream != nil {
		l.cancel()
		l.stream = nil
	}
}

func (l *Link) cycle(wall time.Time) (*pb.CycleReply, error) {
	now, back := l.clock.read(wall, l.steady())
	if back {
		klog.InfoS("The clock was set back, so the engine starts with a full sync", "now", now)
		l.synced = false
	}
	for range maxSyncsPerCycle {
		if err := l.tell(); err != nil {
			return nil, err
		}
		err := l.send(&pb.ScheduleRequest{Content: &pb.ScheduleRequest_Cycle{Cycle: &pb.CycleRequest{
			Epoch: l.epoch, Sequence: l.sequence, NowMs: now.UnixMilli()}}})
		if err != nil {
			return nil, err
		}
		reply, err := l.answer()
		if reply != nil || err != nil {
			return reply, err
		}
	}
	return nil, fmt.Errorf("the engine asked for %d syncs in a row", maxSyncsPerCycle)
}

func (l *Link) send(request *pb.ScheduleRequest) error {
	err := l.stream.Send(request)
	if errors.Is(err, io.EOF) {
		// The engine ended the stream; Recv says why.
		for err = nil; err == nil; {
			_, err = l.stream.Recv()
		}
	}
	return err
}

// batch is what one message held.
type batch struct {
	sequence uint64
	events   []*pb.Event
}

// tell sends the facts that are new to this epoch.
func (l *Link) tell() error {
	if l.synced {
		return l.sendFacts(l.source.Drain(), false)
	}
	events := l.source.Sync()
	if err := l.sendFacts(events, true); err != nil {
		return err
	}
	l.synced = true
	l.syncs++
	klog.InfoS("Sent the engine a full sync", "events", len(events), "epoch", l.epoch)
	return nil
}

func (l *Link) sendFacts(events []*pb.Event, sync bool) error {
	messages := cut(events, func(event *pb.Event, why string) {
		klog.InfoS("A fact is too large for the engine, which does not learn of it", "fact", fmt.Sprintf("%T", event.GetFact()), "why", why)
		l.source.Refused(event, why)
	})
	if len(messages) == 0 && sync {
		messages = []message{{}}
	}
	for i, message := range messages {
		l.sequence++
		facts := &pb.Facts{Epoch: l.epoch, Sequence: l.sequence, Events: message.wire}
		if sync {
			facts.Sync = syncMark(i == 0, i == len(messages)-1)
		}
		l.sent = append(l.sent, batch{l.sequence, message.events})
		if err := l.send(&pb.ScheduleRequest{Content: &pb.ScheduleRequest_Facts{Facts: facts}}); err != nil {
			return err
		}
	}
	return nil
}

func syncMark(first, last bool) pb.SyncMark {
	switch {
	case first && last:
		return pb.SyncMark_SYNC_MARK_WHOLE
	case first:
		return pb.SyncMark_SYNC_MARK_BEGIN
	case last:
		return pb.SyncMark_SYNC_MARK_END
	}
	return pb.SyncMark_SYNC_MARK_UNSPECIFIED
}

// answer reads up to the end of the plan; nil without an error if the engine wants a new sync first.
func (l *Link) answer() (*pb.CycleReply, error) {
	var whole *pb.CycleReply
	for {
		reply, err := l.stream.Recv()
		if err != nil {
			return nil, err
		}
		switch content := reply.GetContent().(type) {
		case *pb.ScheduleReply_Cycle:
			if content.Cycle.GetEpoch() != l.epoch || content.Cycle.GetSequence() != l.sequence {
				continue
			}
			if whole == nil {
				whole = content.Cycle
			} else {
				proto.Merge(whole, content.Cycle) // which appends lists
			}
			if !content.Cycle.GetMore() {
				whole.More = false
				return whole, nil
			}
		case *pb.ScheduleReply_Resync:
			klog.InfoS("The engine asks for a full sync", "why", content.Resync.GetWhy())
			l.startEpoch(content.Resync.GetEpoch())
			return nil, nil
		case *pb.ScheduleReply_Refused:
			l.refused(content.Refused)
		default:
			return nil, fmt.Errorf("unexpected reply %T", content)
		}
	}
}

func (l *Link) refused(refused *pb.FactRefused) {
	for _, b := range l.sent {
		if b.sequence == refused.GetSequence() && int(refused.GetIndex()) < len(b.events) {
			l.source.Refused(b.events[refused.GetIndex()], refused.GetMessage())
			return
		}
	}
	klog.InfoS("The engine refused a fact that was not sent since the last plan", "message", refused.GetMessage())
}
