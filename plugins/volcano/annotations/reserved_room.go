package annotations

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
)

// ReservedRoomKey, on a PodGroup, is the room that is reserved for the gang while its victims end.
const ReservedRoomKey = "tephra.sh/reserved-room"

// MaxReservedRoomBytes leaves the group's other annotations a quarter of what Kubernetes keeps.
const MaxReservedRoomBytes = 192 << 10

// mostPlainBytes is the longest list of tasks that is written as it is: users can read it. A longer list is compressed.
const mostPlainBytes = 32 << 10

// maxUnpackedBytes bounds the list of tasks in a compressed value.
const maxUnpackedBytes = 4 << 20

const packedVersion = 2

// What the engine takes at most: tasks of a role, and containers of a pod.
const (
	maxTasks      = 1 << 16
	maxContainers = 1 << 16
	mostProfiles  = 11 // of a model
)

// ReservedTask is the room that is reserved for one task.
type ReservedTask struct {
	Role   string          `json:"role"`
	Index  int32           `json:"index"`
	Node   string          `json:"node"`
	Slices []ReservedSlice `json:"slices,omitempty"` // none: it needs no device
}

// ReservedSlice is an equal part of each of some devices, for one container.
type ReservedSlice struct {
	Container int   `json:"container"` // its place in the pod, init containers first
	Devices   []int `json:"devices"`   // indexes in the node's inventory
	Mode      Mode  `json:"mode"`
	Compute   int32 `json:"compute"`
	MemoryMiB int32 `json:"memoryMiB"`
	// Of MIG only.
	Instance *ReservedInstance `json:"mig,omitempty"`
}

// ReservedInstance is where a MIG instance is to lie. It numbers the profile, because the reader may not
// know the node yet: only engines read what is held.
type ReservedInstance struct {
	Profile int `json:"profile"` // its place among those of the device's model
	Start   int `json:"start"`
}

type reservedRoomText struct {
	Version *int               `json:"version"`
	Tasks   []reservedTaskText `json:"tasks"`
}

type reservedTaskText struct {
	Role   string              `json:"role"`
	Index  *int64              `json:"index"`
	Node   string              `json:"node"`
	Slices []reservedSliceText `json:"slices"`
}

type reservedSliceText struct {
	Container *int64  `json:"container"`
	Devices   []int64 `json:"devices"`
	Mode      Mode    `json:"mode"`
	Compute   *int64  `json:"compute"`
	MemoryMiB *int64  `json:"memoryMiB"`

	Instance *heldInstanceText `json:"mig"`
}

type heldInstanceText struct {
	Profile *int64 `json:"profile"`
	Start   *int64 `json:"start"`
}

// FormatReservedRoom writes the tasks and their slices in the order given, as version 1, or as version 2 if that is long.
func FormatReservedRoom(tasks []ReservedTask) (string, error) {
	plain, err := json.Marshal(struct {
		Version int            `json:"version"`
		Tasks   []ReservedTask `json:"tasks"`
	}{version, tasks})
	if err != nil {
		return "", fmt.Errorf("%s: %w", ReservedRoomKey, err)
	}
	// What a later scheduler would refuse is not worth an eviction.
	if _, err := parseTasks(string(plain)); err != nil {
		return "", err
	}
	if len(plain) <= mostPlainBytes {
		return string(plain), nil
	}
	text, err := pack(plain)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ReservedRoomKey, err)
	}
	if err := checkSize(ReservedRoomKey, text, MaxReservedRoomBytes); err != nil {
		return "", err
	}
	return text, nil
}

// pack writes version 2, which has version 1 in it.
func pack(plain []byte) (string, error) {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := writer.Write(plain); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	return fmt.Sprintf(`{"version":%d,"gzip":"%s"}`, packedVersion, base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}

// unpack returns the version 1 in a value of version 2.
func unpack(packed []byte) (string, *Error) {
	wrong := func(found string) *Error {
		return &Error{ReservedRoomKey, "gzip", found, "a list of tasks, compressed by gzip, in base64"}
	}
	if len(packed) == 0 {
		return "", wrong("absent")
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", wrong(err.Error())
	}
	plain, err := io.ReadAll(io.LimitReader(reader, maxUnpackedBytes+1))
	if err != nil {
		return "", wrong(err.Error())
	}
	return string(plain), nil
}

// ParseReservedRoom reads version 1 and version 2. An error is an *Error.
func ParseReservedRoom(text string) ([]ReservedTask, error) {
	if err := checkSize(ReservedRoomKey, text, MaxReservedRoomBytes); err != nil {
		return nil, err
	}
	var in struct {
		Version *int   `json:"version"`
		Gzip    []byte `json:"gzip"`
	}
	if err := decode(ReservedRoomKey, text, MaxReservedRoomBytes, &in); err != nil {
		return nil, err
	}
	if in.Version != nil && *in.Version == packedVersion {
		plain, err := unpack(in.Gzip)
		if err != nil {
			return nil, err
		}
		text = plain
	}
	return parseTasks(text)
}

// parseTasks reads version 1. An error is an *Error.
func parseTasks(text string) ([]ReservedTask, error) {
	var in reservedRoomText
	if err := decode(ReservedRoomKey, text, maxUnpackedBytes, &in); err != nil {
		return nil, err
	}
	if in.Version == nil || *in.Version != version {
		found := "absent"
		if in.Version != nil {
			found = fmt.Sprint(*in.Version)
		}
		return nil, &Error{ReservedRoomKey, "version", found, fmt.Sprintf("%d or %d", version, packedVersion)}
	}
	if in.Tasks == nil {
		return nil, &Error{ReservedRoomKey, "tasks", "absent", "a list"}
	}
	type place struct {
		role  string
		index int32
	}
	seen := map[place]bool{}
	out := make([]ReservedTask, 0, len(in.Tasks))
	for i := range in.Tasks {
		read, err := in.Tasks[i].read()
		if at := (place{read.Role, read.Index}); err == nil && seen[at] {
			err = &Error{ReservedRoomKey, "index", fmt.Sprint(read.Index), "each task of a role once"}
		} else {
			seen[at] = true
		}
		if err != nil {
			err.Field = fmt.Sprintf("tasks[%d].%s", i, err.Field)
			return nil, err
		}
		out = append(out, read)
	}
	return out, nil
}

// read names the field within the task.
func (t *reservedTaskText) read() (ReservedTask, *Error) {
	if t.Role == "" {
		return ReservedTask{}, &Error{ReservedRoomKey, "role", "empty", "the role's name"}
	}
	if err := checkRange(ReservedRoomKey, "index", t.Index, 0, maxTasks-1); err != nil {
		return ReservedTask{}, err
	}
	if t.Node == "" {
		return ReservedTask{}, &Error{ReservedRoomKey, "node", "empty", "the node's name"}
	}
	out := ReservedTask{Role: t.Role, Index: int32(*t.Index), Node: t.Node}
	for s := range t.Slices {
		slice, err := t.Slices[s].read()
		if err != nil {
			err.Field = fmt.Sprintf("slices[%d].%s", s, err.Field)
			return ReservedTask{}, err
		}
		out.Slices = append(out.Slices, slice)
	}
	return out, nil
}

// read names the field within the slice.
func (t *reservedSliceText) read() (ReservedSlice, *Error) {
	if err := checkRange(ReservedRoomKey, "container", t.Container, 0, maxContainers-1); err != nil {
		return ReservedSlice{}, err
	}
	if len(t.Devices) == 0 {
		return ReservedSlice{}, &Error{ReservedRoomKey, "devices", "empty", "indexes of devices"}
	}
	out := ReservedSlice{Container: int(*t.Container), Mode: t.Mode}
	for d := range t.Devices {
		if err := checkRange(ReservedRoomKey, fmt.Sprintf("devices[%d]", d), &t.Devices[d], 0, MaxDevices-1); err != nil {
			return ReservedSlice{}, err
		}
		out.Devices = append(out.Devices, int(t.Devices[d]))
	}
	if err := checkShare(ReservedRoomKey, t.Mode, t.Compute, t.MemoryMiB); err != nil {
		return ReservedSlice{}, err
	}
	out.Compute, out.MemoryMiB = int32(*t.Compute), int32(*t.MemoryMiB)
	if t.Mode != MIG {
		return out, nil
	}
	if t.Instance == nil {
		return ReservedSlice{}, &Error{ReservedRoomKey, "mig", "absent", "profile and start"}
	}
	if err := checkRange(ReservedRoomKey, "mig.profile", t.Instance.Profile, 0, mostProfiles-1); err != nil {
		return ReservedSlice{}, err
	}
	if err := checkRange(ReservedRoomKey, "mig.start", t.Instance.Start, 0, 7); err != nil {
		return ReservedSlice{}, err
	}
	out.Instance = &ReservedInstance{int(*t.Instance.Profile), int(*t.Instance.Start)}
	return out, nil
}
