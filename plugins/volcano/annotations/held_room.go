package annotations

import (
	"encoding/json"
	"fmt"
)

// HeldRoomKey, on a PodGroup, is the room that is set aside for the gang while others leave it.
const HeldRoomKey = "tephra.sh/held-room"

// MaxHeldRoomBytes leaves the group's other annotations a quarter of what Kubernetes keeps.
const MaxHeldRoomBytes = 192 << 10

// What the engine takes at most: tasks of a role, and containers of a pod.
const (
	maxTasks      = 1 << 16
	maxContainers = 1 << 16
	mostProfiles  = 11 // of a model
)

// HeldTask is the room that is set aside for one task.
type HeldTask struct {
	Role   string      `json:"role"`
	Index  int32       `json:"index"`
	Node   string      `json:"node"`
	Slices []HeldSlice `json:"slices,omitempty"` // none: it needs no device
}

// HeldSlice is an equal part of each of some devices, for one container.
type HeldSlice struct {
	Container int   `json:"container"` // its place in the pod, init containers first
	Devices   []int `json:"devices"`   // indexes in the node's inventory
	Mode      Mode  `json:"mode"`
	Compute   int32 `json:"compute"`
	MemoryMiB int32 `json:"memoryMiB"`
	// Of MIG only.
	Instance *HeldInstance `json:"mig,omitempty"`
}

// HeldInstance is where a MIG instance is to lie. It numbers the profile, for whoever reads it may not
// know the node yet: only engines read what is held.
type HeldInstance struct {
	Profile int `json:"profile"` // its place among those of the device's model
	Start   int `json:"start"`
}

type heldRoomText struct {
	Version *int           `json:"version"`
	Tasks   []heldTaskText `json:"tasks"`
}

type heldTaskText struct {
	Role   string          `json:"role"`
	Index  *int64          `json:"index"`
	Node   string          `json:"node"`
	Slices []heldSliceText `json:"slices"`
}

type heldSliceText struct {
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

// FormatHeldRoom writes version 1, tasks and slices in the order given.
func FormatHeldRoom(tasks []HeldTask) (string, error) {
	out := struct {
		Version int        `json:"version"`
		Tasks   []HeldTask `json:"tasks"`
	}{version, tasks}
	bytes, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("%s: %w", HeldRoomKey, err)
	}
	// What a later scheduler would refuse is not worth an eviction.
	if _, err := ParseHeldRoom(string(bytes)); err != nil {
		return "", err
	}
	return string(bytes), nil
}

// ParseHeldRoom reads version 1. An error is an *Error.
func ParseHeldRoom(text string) ([]HeldTask, error) {
	var in heldRoomText
	if err := decode(HeldRoomKey, text, MaxHeldRoomBytes, &in); err != nil {
		return nil, err
	}
	if err := checkVersion(HeldRoomKey, in.Version); err != nil {
		return nil, err
	}
	if in.Tasks == nil {
		return nil, &Error{HeldRoomKey, "tasks", "absent", "a list"}
	}
	type place struct {
		role  string
		index int32
	}
	seen := map[place]bool{}
	out := make([]HeldTask, 0, len(in.Tasks))
	for i := range in.Tasks {
		read, err := in.Tasks[i].read()
		if at := (place{read.Role, read.Index}); err == nil && seen[at] {
			err = &Error{HeldRoomKey, "index", fmt.Sprint(read.Index), "each task of a role once"}
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
func (t *heldTaskText) read() (HeldTask, *Error) {
	if t.Role == "" {
		return HeldTask{}, &Error{HeldRoomKey, "role", "empty", "the role's name"}
	}
	if err := checkRange(HeldRoomKey, "index", t.Index, 0, maxTasks-1); err != nil {
		return HeldTask{}, err
	}
	if t.Node == "" {
		return HeldTask{}, &Error{HeldRoomKey, "node", "empty", "the node's name"}
	}
	out := HeldTask{Role: t.Role, Index: int32(*t.Index), Node: t.Node}
	for s := range t.Slices {
		slice, err := t.Slices[s].read()
		if err != nil {
			err.Field = fmt.Sprintf("slices[%d].%s", s, err.Field)
			return HeldTask{}, err
		}
		out.Slices = append(out.Slices, slice)
	}
	return out, nil
}

// read names the field within the slice.
func (t *heldSliceText) read() (HeldSlice, *Error) {
	if err := checkRange(HeldRoomKey, "container", t.Container, 0, maxContainers-1); err != nil {
		return HeldSlice{}, err
	}
	if len(t.Devices) == 0 {
		return HeldSlice{}, &Error{HeldRoomKey, "devices", "empty", "indexes of devices"}
	}
	out := HeldSlice{Container: int(*t.Container), Mode: t.Mode}
	for d := range t.Devices {
		if err := checkRange(HeldRoomKey, fmt.Sprintf("devices[%d]", d), &t.Devices[d], 0, MaxDevices-1); err != nil {
			return HeldSlice{}, err
		}
		out.Devices = append(out.Devices, int(t.Devices[d]))
	}
	if err := checkShare(HeldRoomKey, t.Mode, t.Compute, t.MemoryMiB); err != nil {
		return HeldSlice{}, err
	}
	out.Compute, out.MemoryMiB = int32(*t.Compute), int32(*t.MemoryMiB)
	if t.Mode != MIG {
		return out, nil
	}
	if t.Instance == nil {
		return HeldSlice{}, &Error{HeldRoomKey, "mig", "absent", "profile and start"}
	}
	if err := checkRange(HeldRoomKey, "mig.profile", t.Instance.Profile, 0, mostProfiles-1); err != nil {
		return HeldSlice{}, err
	}
	if err := checkRange(HeldRoomKey, "mig.start", t.Instance.Start, 0, 7); err != nil {
		return HeldSlice{}, err
	}
	out.Instance = &HeldInstance{int(*t.Instance.Profile), int(*t.Instance.Start)}
	return out, nil
}
