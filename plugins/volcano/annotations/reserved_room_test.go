package annotations

import (
	"errors"
	"math/rand/v2"
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

// largeGang has one task of eight GPUs on each node. Names of nodes in a cloud end in random letters.
func largeGang(tasks int32) []ReservedTask {
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	name := []byte("gke-training-europe-west4-pool-a3-xxxxxxxx-xxxx")
	var out []ReservedTask
	for i := range tasks {
		for at := len(name) - 13; at < len(name); at++ {
			if name[at] != '-' {
				name[at] = letters[random.IntN(len(letters))]
			}
		}
		out = append(out, ReservedTask{Role: "worker", Index: i, Node: string(name),
			Slices: []ReservedSlice{{Devices: []int{0, 1, 2, 3, 4, 5, 6, 7}, Mode: Whole, Compute: 1000, MemoryMiB: 81559}}})
	}
	return out
}

func TestRoomForTenThousandTasksIsWrittenAndReadBack(t *testing.T) {
	for _, tasks := range []int32{1, 100, 200, 1000, 10000} {
		gang := largeGang(tasks)
		text, err := FormatReservedRoom(gang)
		if err != nil {
			t.Fatal(tasks, err)
		}
		if read, err := ParseReservedRoom(text); err != nil || !reflect.DeepEqual(read, gang) {
			t.Errorf("%d tasks, %d bytes: read %d tasks, %v", tasks, len(text), len(read), err)
		}
		if plain := strings.Contains(text, "worker"); plain != (tasks <= 100) {
			t.Errorf("%d tasks: can be read without unpacking: %v", tasks, plain)
		}
	}
	if text, err := FormatReservedRoom(largeGang(65536)); err == nil {
		t.Errorf("wrote %d bytes", len(text))
	}
}

func TestAValueThatUnpacksToMuchIsRefused(t *testing.T) {
	bomb, err := pack([]byte(`{"version":1,"tasks":[` + strings.Repeat(" ", 16<<20) + `]}`))
	if err != nil || len(bomb) > MaxReservedRoomBytes {
		t.Fatal(len(bomb), err)
	}
	if _, err := ParseReservedRoom(bomb); err == nil || !strings.Contains(err.Error(), "4194305 bytes, expected at most 4194304") {
		t.Errorf("got %v", err)
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
		{held(`{"version":3,"tasks":[]}`), `version: 3, expected 1 or 2`},
		{held(`{"version":2,"tasks":[]}`), `gzip: absent, expected a list of tasks, compressed by gzip, in base64`},
		{held(`{"version":2,"gzip":"bm9uZQ=="}`), `gzip: unexpected EOF, expected a list of tasks`},
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
