package whole

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "tephra.sh/volcano/tephrav1"
)

// EngineVariable names the environment variable with the path of tests/whole/engine_steps.
const EngineVariable = "TEPHRA_ENGINE_STEPS"

// Process is an engine_steps, which many runs use one after the other.
type Process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	next    uint32
}

// StartProcess runs engine_steps with that configuration file.
func StartProcess(path, config string) (*Process, error) {
	p := &Process{command: exec.Command(path, config)}
	p.command.Stderr = os.Stderr
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 1<<16)
	return p, p.command.Start()
}

// Stop ends the process.
func (p *Process) Stop() {
	_ = p.in.Close()
	_ = p.command.Wait()
}

// ask is one request and its answers. The process is a part of the run: without it there is none.
func (p *Process) ask(letter byte, engine uint32, body []byte) (replies [][]byte) {
	text := binary.LittleEndian.AppendUint32(nil, uint32(5+len(body)))
	text = append(text, letter)
	text = binary.LittleEndian.AppendUint32(text, engine)
	if _, err := p.in.Write(append(text, body...)); err != nil {
		panic(fmt.Sprintf("engine_steps: %v", err))
	}
	word := func() uint32 {
		var bytes [4]byte
		if _, err := io.ReadFull(p.out, bytes[:]); err != nil {
			panic(fmt.Sprintf("engine_steps: %v", err))
		}
		return binary.LittleEndian.Uint32(bytes[:])
	}
	for range word() {
		reply := make([]byte, word())
		if _, err := io.ReadFull(p.out, reply); err != nil {
			panic(fmt.Sprintf("engine_steps: %v", err))
		}
		replies = append(replies, reply)
	}
	return replies
}

// engines are those beside the instances of the scheduler, one each.
type engines struct {
	process *Process
	journal string // folder; empty: none
	of      []*engine
}

func (e *engines) fullDisk(full bool) {
	on := []byte{0}
	if full {
		on[0] = 1
	}
	e.process.ask('L', 0, on)
}

// engine is a tephra-engine as a scheduler's calls meet it. REQUIRES of its methods: the world's lock is held.
type engine struct {
	world  *World
	number int
	id     uint32 // in the process; 0: it does not run
	epoch  uint64
	holder *conversation
}

func (e *engine) start() {
	if e.id != 0 {
		return
	}
	all := e.world.engines
	all.process.next++
	e.id = all.process.next
	e.epoch += 1 << 20
	body := binary.LittleEndian.AppendUint64(nil, e.epoch+uint64(e.number)<<40)
	if all.journal != "" {
		folder := filepath.Join(all.journal, fmt.Sprint(e.id))
		if os.Mkdir(folder, 0o700) == nil {
			body = append(body, folder...)
		}
	}
	all.process.ask('N', e.id, body)
}

func (e *engine) crash() {
	if e.id == 0 {
		return
	}
	e.cut("the engine is gone")
	e.world.engines.process.ask('X', e.id, nil)
	e.id = 0
}

// cut ends the stream of the moment.
func (e *engine) cut(why string) {
	if e.holder != nil {
		e.holder.finish(status.Error(codes.Unavailable, why))
	}
}

// state is what the engine knows; nil: it has no sync.
func (e *engine) state() *pb.GetStateReply {
	if e.id == 0 {
		return nil
	}
	replies := e.world.engines.process.ask('S', e.id, nil)
	if len(replies) == 0 {
		return nil
	}
	out := &pb.GetStateReply{}
	if err := proto.Unmarshal(replies[0], out); err != nil {
		panic(err)
	}
	return out
}

// calls are the engine as one process calls it.
type calls struct {
	pb.EngineServiceClient // of which only Schedule is called
	engine                 *engine
	client                 *client
}

// Schedule implements pb.EngineServiceClient.
func (c calls) Schedule(ctx context.Context, _ ...grpc.CallOption) (grpc.BidiStreamingClient[pb.ScheduleRequest, pb.ScheduleReply], error) {
	w := c.engine.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	s := &conversation{engine: c.engine, client: c.client, ctx: ctx, wake: make(chan struct{}, 1)}
	context.AfterFunc(ctx, func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.after(w.between(c.client.name+" leaves the engine", 1000, 2_000_000), func() { s.finish(ctx.Err()) })
	})
	return s, nil
}

type reply struct {
	at      time.Duration
	message *pb.ScheduleReply
	err     error
}

// conversation is one stream.
type conversation struct {
	grpc.ClientStream
	engine  *engine
	client  *client
	ctx     context.Context
	term    uint64
	wake    chan struct{}
	replies []reply
	over    error
}

func (s *conversation) finish(why error) {
	if s.over != nil {
		return
	}
	s.over = why
	if s.engine.holder == s {
		s.engine.holder = nil
		s.engine.world.engines.process.ask('E', s.engine.id, nil)
	}
	s.push(reply{s.arrival(), nil, why})
}

func (s *conversation) push(r reply) {
	s.replies = append(s.replies, r)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// arrival is when an answer that is sent now arrives.
func (s *conversation) arrival() time.Duration {
	w := s.engine.world
	at := w.now() + w.between(s.client.name+" engine", 100*time.Microsecond, 3*time.Millisecond)
	if f := w.active(HangEngine, s.engine.number); f != nil {
		at += f.At + f.For - w.now()
	}
	if held := w.heldUntil(s.client); held > at {
		at += held - w.now()
	}
	if n := len(s.replies); n > 0 {
		at = max(at, s.replies[n-1].at+1)
	}
	return at
}

// Send passes the message on at once: the stream is on one machine. What the engine says takes its time.
func (s *conversation) Send(message *pb.ScheduleRequest) error {
	e := s.engine
	w := e.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch {
	case s.client.dead:
		w.mutex.Unlock()
		select {}
	case s.over == nil && e.id == 0:
		s.finish(status.Error(codes.Unavailable, "there is no engine"))
		return io.EOF
	case s.over != nil:
		return io.EOF
	}
	letter, body := byte('F'), proto.Message(message.GetFacts())
	if hello := message.GetHello(); hello != nil {
		if !s.greet(hello) {
			return io.EOF
		}
		letter, body = 'B', hello
	} else if cycle := message.GetCycle(); cycle != nil {
		letter, body = 'C', cycle
	}
	bytes, err := proto.Marshal(body)
	if err != nil {
		return err
	}
	w.note("%s to engine: %c %016x", s.client.name, letter, mix(0, string(bytes), 0))
	replies := w.engines.process.ask(letter, e.id, bytes)
	if letter == 'C' && w.active(LosePlans, e.number) != nil && w.chance("lost plan", 500) {
		s.finish(status.Error(codes.Unavailable, "the stream was cut"))
		return nil
	}
	for _, bytes := range replies {
		w.note("engine to %s: %016x", s.client.name, mix(0, string(bytes), 0))
		r := reply{at: s.arrival(), message: &pb.ScheduleReply{}}
		if err := proto.Unmarshal(bytes, r.message); err != nil {
			return err
		}
		s.push(r)
	}
	return nil
}

// greet is what service.cc does with the first message.
func (s *conversation) greet(hello *pb.Hello) bool {
	e := s.engine
	s.term = hello.GetLeaseTerm()
	if e.world.active(OtherProtocol, e.number) != nil {
		s.finish(status.Error(codes.FailedPrecondition, "the engine speaks protocol version 2"))
		return false
	}
	if e.holder != nil && s.term <= e.holder.term {
		s.finish(status.Error(codes.AlreadyExists, "another stream holds the engine"))
		return false
	}
	if e.holder != nil {
		e.holder.finish(status.Error(codes.Aborted, "a newer lease has taken the engine over"))
	}
	e.holder = s
	return true
}

// Recv implements the stream.
func (s *conversation) Recv() (*pb.ScheduleReply, error) {
	w := s.engine.world
	for {
		w.mutex.Lock()
		wait := time.Duration(-1)
		if s.client.dead {
			w.mutex.Unlock()
			select {}
		}
		if len(s.replies) > 0 {
			if wait = s.replies[0].at - w.now(); wait <= 0 {
				first := s.replies[0]
				if first.err == nil {
					s.replies = s.replies[1:]
				}
				w.mutex.Unlock()
				return first.message, first.err
			}
		}
		w.mutex.Unlock()
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-timer:
		case <-s.wake:
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}
