package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	pb "tephra.sh/volcano/tephrav1"
)

// Key is the record's place in the ConfigMap.
const Key = "memory.json"

// version of the record is that of tephra.v1.Memory, of which it is the JSON form.
const version = 1

// mostBytes is what Kubernetes keeps in one ConfigMap. The engine leaves the smallest accounts out long
// before: what it counts as 256 KiB is about twice that as text.
const mostBytes = 1 << 20

// mostAhead is how far the clock of the record's writer may have been ahead of ours. What is of a
// later time would not decay until then.
const mostAhead = 10 * time.Minute

// format writes version 1; equal memories are equal texts.
func format(memory *pb.Memory) (string, error) {
	loose, err := protojson.Marshal(memory) // with spaces by chance
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, loose); err != nil {
		return "", err
	}
	if text.Len() > mostBytes {
		return "", fmt.Errorf("%d bytes, expected at most %d", text.Len(), mostBytes)
	}
	return text.String(), nil
}

// parse reads version 1. Fields that it does not know it takes for absent.
func parse(text string, now time.Time) (*pb.Memory, error) {
	var head struct {
		Version *json.Number `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return nil, fmt.Errorf("%s, expected JSON of version %d (%w)", shorten(text), version, err)
	}
	if head.Version == nil {
		return nil, fmt.Errorf("version: absent, expected %d", version)
	}
	if head.Version.String() != strconv.Itoa(version) {
		return nil, fmt.Errorf("version: %.20s, expected %d", head.Version.String(), version)
	}
	memory := &pb.Memory{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), memory); err != nil {
		return nil, fmt.Errorf("%s, expected a memory of version %d (%w)", shorten(text), version, err)
	}
	if at := of(memory); at.After(now.Add(mostAhead)) {
		return nil, fmt.Errorf("atMs: %d (%s), expected at most %s after now", memory.GetAtMs(), at.Format(time.RFC3339), mostAhead)
	}
	return memory, nil
}

// of is the time as of which it was written.
func of(memory *pb.Memory) time.Time { return time.UnixMilli(memory.GetAtMs()).UTC() }

func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}
