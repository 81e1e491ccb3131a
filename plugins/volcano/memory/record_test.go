package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "tephra.sh/volcano/tephrav1"
)

func TestARecordIsReadBackToTheLastDigit(t *testing.T) {
	for minutes := range int64(100) {
		memory := memoryOf(-minutes)
		read, err := parse(textOf(t, memory), time.Now())
		if err != nil || !proto.Equal(read, memory) {
			t.Errorf("read %v, expected %v (%v)", read, memory, err)
		}
	}
	if text, want := textOf(t, &pb.Memory{Version: 1, AtMs: 5, HalfLifeMs: 7}), `{"version":1,"atMs":"5","halfLifeMs":"7"}`; text != want {
		t.Errorf("%s, expected %s", text, want)
	}
}

// The engine counts 16 bytes for each account, 24 for each amount, and names, and stops at 256 KiB.
func TestTheLargestMemoryOfAnEngineFitsIntoAConfigMap(t *testing.T) {
	queue := &pb.RememberedQueue{Queue: "q"}
	for bytes := 0; bytes < 256<<10; bytes += 16 + 1 + 24 + 3 {
		queue.Users = append(queue.Users, &pb.RememberedUser{User: "u", Spent: []*pb.RememberedAmount{{Kind: "cpu", Spent: 1.2345678901234567e+217}}})
	}
	if text := textOf(t, &pb.Memory{Version: 1, AtMs: start, HalfLifeMs: 1, Queues: []*pb.RememberedQueue{queue}}); len(text) > mostBytes*3/4 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestARecordThatNoConfigMapTakesIsNotWritten(t *testing.T) {
	queue := &pb.RememberedQueue{Queue: strings.Repeat("q", mostBytes)}
	_, err := format(&pb.Memory{Version: 1, Queues: []*pb.RememberedQueue{queue}})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("expected at most %d", mostBytes)) {
		t.Errorf("got %v", err)
	}
}
