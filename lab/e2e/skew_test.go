package e2e_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	core "k8s.io/api/core/v1"
	"tephra.sh/lab/e2e"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// bytesCodec leaves messages as they are on the wire.
type bytesCodec struct{}

func (bytesCodec) Name() string                        { return "proto" }
func (bytesCodec) Marshal(message any) ([]byte, error) { return message.([]byte), nil }
func (bytesCodec) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// serveVersion is an engine of another version of the protocol of sidecar/proto: it welcomes each client, in that version,
// and says nothing more. The function that it returns ends it.
func serveVersion(t *testing.T, socket string, version byte) (stop func()) {
	t.Helper()
	listener := given[net.Listener](t)(net.Listen("unix", socket))
	server := grpc.NewServer(grpc.ForceServerCodec(bytesCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var hello []byte
		if err := stream.RecvMsg(&hello); err != nil {
			return err
		}
		// ScheduleReply{welcome: {protocol_version: version, epoch: 5}}
		if err := stream.SendMsg([]byte{0x0a, 4, 0x08, version, 0x10, 5}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	}))
	go func() { _ = server.Serve(listener) }()
	return server.Stop
}

// The rule of docs/reference/compatibility.md: peers of different protocol versions refuse each other, and name both versions.
func TestAnEngineOfAnotherProtocolVersionIsRefusedUntilItIsReplaced(t *testing.T) {
	c, ns := on(t)
	engine := given[*e2e.Engine](t)(c.NewEngine("skewed-engine", ""))
	t.Cleanup(engine.Kill)
	scheduler := given[*e2e.Scheduler](t)(c.NewScheduler("skewed", engine))
	for i, version := range []byte{0, 2} {
		stop := serveVersion(t, engine.Socket, version)
		if i == 0 {
			instead(t, c, scheduler)
			ok(t, c.Submit(t.Context(), e2e.Job(ns, "train").Task("worker", 4, e2e.GPUs(8)).Object()))
		}
		said := fmt.Sprintf("engine speaks protocol version %d, expected 1", version)
		ok(t, e2e.Until(t.Context(), func(context.Context) error {
			if !strings.Contains(scheduler.Said(), said) {
				return fmt.Errorf("the scheduler did not log %q", said)
			}
			return nil
		}))
		ok(t, unready(t.Context(), scheduler, "engine"))
		if pods := given[[]core.Pod](t)(c.Pods(t.Context(), ns, "train")); len(pods) > 0 {
			t.Errorf("version %d: %d pods without a plan, expected none", version, len(pods))
		}
		stop()
		_ = os.Remove(engine.Socket)
	}
	ok(t, engine.Start(t.Context()))
	ok(t, scheduler.IsReady(t.Context()))
	ok(t, c.JobReaches(t.Context(), ns, "train", batch.Running))
}
