package annotations

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReservedRoomThatIsWrittenIsReadBack(t *testing.T) {
	written := []ReservedTask{
		{Role: "worker", Index: 0, Node: "n1", Slices: []ReservedSlice{
			{Container: 0, Devices: []int{0, 1, 7}, Mode: Whole, Compute: 1000, MemoryMiB: 81559},
			{Container: 1, Devices: []int{2}, Mode: Fraction, Compute: 250, MemoryMiB: 20000}}},
		{Role: "master", Index: 65535, Node: "n2"},
	}
	text, err := FormatReservedRoom(written)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseReservedRoom(text)
	if err != nil || !reflect.DeepEqual(read, written) {
		t.Errorf("wrote %+v, read %+v, %v", written, read, err)
	}
}

func TestRoomForAThousandTasksOfEightGPUsCanBeWritten(t *testing.T) {
	var tasks []ReservedTask
	for i := range int32(1000) {
		tasks = append(tasks, ReservedTask{Role: "worker", Index: i, Node: fmt.Sprintf("gpu-node-%04d.example.com", i),
			Slices: []ReservedSlice{{Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}, Mode: Whole, Compute: 1000, MemoryMiB: 81559}}})
	}
	if _, err := FormatReservedRoom(tasks); err != nil {
		t.Error(err)
	}
	if text, err := FormatReservedRoom(append(tasks, tasks...)); err == nil {
		t.Errorf("wrote %d bytes", len(text))
	}
}

func TestErrorsAboutEvictionsNameFieldValueAndExpected(t *testing.T) {
	held := func(text string) error { _, err := ParseReservedRoom(text); return err }
	const aTask = `{"version":1,"tasks":[{"role":"worker","index":0,"node":"n1"`
	const aSlice = aTask + `,"slices":[{"container":0,"devices":[0],`
	count := func(text string) error { _, err := ParseEvictions(text); return err }
	duration := func(text string) error { _, err := ParseDuration(MinRuntimeKey, text); return err }
	checkpoint := func(text string) error { _, err := ParseLastCheckpoint(text); return err }
	for _, test := range []struct {
		err  error
		want string
	}{
		{held(`none`), `tephra.sh/reserved-room: "none", expected JSON`},
		{held(`{"version":2,"tasks":[]}`), `version: 2, expected 1`},
		{held(`{"version":1}`), `tasks: absent, expected a list`},
		{held(`{"version":1,"tasks":[{}]}`), `tasks[0].role: empty, expected the role's name`},
		{held(`{"version":1,"tasks":[{"role":"a","index":65536}]}`), `tasks[0].index: 65536, expected 0 to 65535`},
		{held(`{"version":1,"tasks":[{"role":"a","index":0}]}`), `tasks[0].node: empty, expected the node's name`},
		{held(aTask + `},{"role":"worker","index":0,"node":"n2"}]}`), `tasks[1].index: 0, expected each task of a role once`},
		{held(aTask + `,"slices":[{"container":0}]}]}`), `tasks[0].slices[0].devices: empty, expected indexes of devices`},
		{held(aTask + `,"slices":[{"container":0,"devices":[0,-1]}]}]}`), `slices[0].devices[1]: -1, expected 0 to 65534`},
		{held(aSlice + `"mode":"half"}]}]}`), `slices[0].mode: "half", expected "whole", "fraction"`},
		{held(aSlice + `"mode":"whole","compute":5}]}]}`), `slices[0].compute: 5, expected 1000 to 1000`},
		{count("-1"), `tephra.sh/evictions: "-1", expected 0 to 2147483647`},
		{count("two"), `"two", expected 0 to`},
		{duration("10"), `tephra.sh/min-runtime: "10", expected a duration such as "10m"`},
		{duration("-1s"), `"-1s", expected a duration`},
		{checkpoint("yesterday"), `tephra.sh/last-checkpoint: "yesterday", expected a time such as "2026-01-31T12:00:00Z"`},
	} {
		var typed *Error
		if test.err == nil || !errors.As(test.err, &typed) || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("got %v, want an *Error with %q", test.err, test.want)
		}
	}
}

func TestWhatConcernsEvictionsIsRead(t *testing.T) {
	if count, err := ParseEvictions(FormatEvictions(3)); err != nil || count != 3 {
		t.Errorf("got %d, %v", count, err)
	}
	if duration, err := ParseDuration(MinRuntimeKey, "1h30m"); err != nil || duration != 90*time.Minute {
		t.Errorf("got %s, %v", duration, err)
	}
	if at, err := ParseLastCheckpoint("2026-01-31T14:00:00+02:00"); err != nil || at.Unix() != 1769860800 {
		t.Errorf("got %s, %v", at, err)
	}
}

func FuzzParseReservedRoom(f *testing.F) {
	f.Add(`{"version":1,"tasks":[{"role":"a","index":0,"node":"n","slices":[{"container":0,"devices":[1],"mode":"whole","compute":1000,"memoryMiB":5}]}]}`)
	f.Add(`{"version":1,"tasks":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		read, err := ParseReservedRoom(text)
		if err != nil {
			return
		}
		again, err := FormatReservedRoom(read)
		if err != nil {
			if len(text) > MaxReservedRoomBytes/4 {
				return // written out in full it may be too long
			}
			t.Fatalf("read %q and cannot write it: %v", text, err)
		}
		if reread, err := ParseReservedRoom(again); err != nil || !reflect.DeepEqual(read, reread) {
			t.Fatalf("%q: read %+v, then %+v, %v", text, read, reread, err)
		}
	})
}
