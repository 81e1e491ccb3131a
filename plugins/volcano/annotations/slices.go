package annotations

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Mode says how a device is cut for a slice.
type Mode string

const (
	Whole     Mode = "whole"     // the device for this pod alone
	Fraction  Mode = "fraction"  // a share of compute and memory beside other pods, by the hook library
	MPS       Mode = "mps"       // the same, by NVIDIA's Multi-Process Service
	TimeSlice Mode = "timeSlice" // a turn at the device
	MIG       Mode = "mig"       // an instance that Multi-Instance GPU cuts out of it
)

// Modes are all of them, in the engine's order.
var Modes = []Mode{Whole, Fraction, MPS, TimeSlice, MIG}

// Instance is where a MIG instance lies on its device.
type Instance struct {
	Profile string `json:"profile"` // as nvidia-smi names it: "1g.10gb"
	Start   int    `json:"start"`   // its first memory slice
}

// Slice is the part of one device that one container gets.
type Slice struct {
	UUID      string `json:"uuid,omitempty"` // of the device; empty where the node's inventory names none
	Index     int    `json:"index"`          // of the device in the node's inventory
	Mode      Mode   `json:"mode"`
	Compute   int32  `json:"compute"`   // per mille of the device; 0: no share is reserved
	MemoryMiB int32  `json:"memoryMiB"` // 0: none reserved
	// Of MIG only.
	Instance *Instance `json:"mig,omitempty"`
}

// ContainerSlices are the slices of one container.
type ContainerSlices struct {
	Name   string  `json:"name"`
	Slices []Slice `json:"slices"`
}

// What is read: a field that is absent differs from a zero.
type slicesText struct {
	Version    *int            `json:"version"`
	Containers []containerText `json:"containers"`
}

type containerText struct {
	Name   string      `json:"name"`
	Slices []sliceText `json:"slices"`
}

type sliceText struct {
	UUID      string `json:"uuid,omitempty"`
	Index     *int64 `json:"index"`
	Mode      Mode   `json:"mode"`
	Compute   *int64 `json:"compute"`
	MemoryMiB *int64 `json:"memoryMiB"`

	Instance *instanceText `json:"mig"`
}

type instanceText struct {
	Profile string `json:"profile"`
	Start   *int64 `json:"start"`
}

// textOf is what is checked of an instance that is to be written.
func textOf(instance *Instance) *instanceText {
	if instance == nil {
		return nil
	}
	start := int64(instance.Start)
	return &instanceText{instance.Profile, &start}
}

// FormatSlices writes version 1. The containers are written in the order given.
func FormatSlices(containers []ContainerSlices) (string, error) {
	out := struct {
		Version    int               `json:"version"`
		Containers []ContainerSlices `json:"containers"`
	}{version, make([]ContainerSlices, 0, len(containers))}
	for c, container := range containers {
		if err := checkName(containers[:c], c, container.Name); err != nil {
			return "", err
		}
		if container.Slices == nil {
			container.Slices = []Slice{}
		}
		for s, slice := range container.Slices {
			index, compute, memory := int64(slice.Index), int64(slice.Compute), int64(slice.MemoryMiB)
			if _, err := (&sliceText{slice.UUID, &index, slice.Mode, &compute, &memory, textOf(slice.Instance)}).check(c, s); err != nil {
				return "", err
			}
		}
		out.Containers = append(out.Containers, container)
	}
	bytes, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("%s: %w", SlicesKey, err)
	}
	if err := checkSize(SlicesKey, string(bytes), MaxSlicesBytes); err != nil {
		return "", err
	}
	return string(bytes), nil
}

// ParseSlices reads version 1. An error is an *Error.
func ParseSlices(text string) ([]ContainerSlices, error) {
	var in slicesText
	if err := decode(SlicesKey, text, MaxSlicesBytes, &in); err != nil {
		return nil, err
	}
	containers, err := in.read()
	if err != nil {
		return nil, err
	}
	return containers, nil
}

// read checks what was decoded.
func (in *slicesText) read() ([]ContainerSlices, *Error) {
	if err := checkVersion(SlicesKey, in.Version); err != nil {
		return nil, err
	}
	if in.Containers == nil {
		return nil, &Error{SlicesKey, "containers", "absent", "a list"}
	}
	out := make([]ContainerSlices, 0, len(in.Containers))
	for c, container := range in.Containers {
		if err := checkName(out, c, container.Name); err != nil {
			return nil, err
		}
		read := ContainerSlices{Name: container.Name}
		for s, slice := range container.Slices {
			checked, err := slice.check(c, s)
			if err != nil {
				return nil, err
			}
			read.Slices = append(read.Slices, checked)
		}
		out = append(out, read)
	}
	return out, nil
}

// checkName: container c has a name, and none of those before it has the same.
func checkName(before []ContainerSlices, c int, name string) *Error {
	at := func() string { return fmt.Sprintf("containers[%d].name", c) }
	if name == "" {
		return &Error{SlicesKey, at(), "empty", "the container's name"}
	}
	for _, other := range before {
		if other.Name == name {
			return &Error{SlicesKey, at(), strconv.Quote(name), "each container once"}
		}
	}
	return nil
}

// check reads slice s of container c.
func (t *sliceText) check(c, s int) (Slice, *Error) {
	read, err := t.values()
	if err != nil {
		err.Field = fmt.Sprintf("containers[%d].slices[%d].%s", c, s, err.Field)
	}
	return read, err
}

// values names the field within the slice. It formats nothing where nothing is wrong: thousands of
// slices are written in one cycle.
func (t *sliceText) values() (Slice, *Error) {
	if err := checkRange(SlicesKey, "index", t.Index, 0, MaxDevices-1); err != nil {
		return Slice{}, err
	}
	if err := checkShare(SlicesKey, t.Mode, t.Compute, t.MemoryMiB); err != nil {
		return Slice{}, err
	}
	instance, err := t.Instance.read(SlicesKey, t.Mode)
	if err != nil {
		return Slice{}, err
	}
	return Slice{t.UUID, int(*t.Index), t.Mode, int32(*t.Compute), int32(*t.MemoryMiB), instance}, nil
}

// read: an instance stands beside the mode mig, and nowhere else.
func (t *instanceText) read(key string, mode Mode) (*Instance, *Error) {
	if mode != MIG {
		return nil, nil
	}
	if t == nil {
		return nil, &Error{key, "mig", "absent", "profile and start"}
	}
	if !KnownMIGProfile(t.Profile) {
		return nil, &Error{key, "mig.profile", shorten(t.Profile), `a profile such as "1g.10gb"`}
	}
	if err := checkRange(key, "mig.start", t.Start, 0, 7); err != nil {
		return nil, err
	}
	return &Instance{t.Profile, int(*t.Start)}, nil
}

// checkShare: the part of a device is one that there can be.
func checkShare(key string, mode Mode, compute, memoryMiB *int64) *Error {
	if !slices.Contains(Modes, mode) {
		return &Error{key, "mode", shorten(string(mode)), `"whole", "fraction", "mps", "timeSlice" or "mig"`}
	}
	lowest := int64(0)
	if mode == Whole {
		lowest = WholeGPU
	}
	if err := checkRange(key, "compute", compute, lowest, WholeGPU); err != nil {
		return err
	}
	return checkRange(key, "memoryMiB", memoryMiB, 0, MaxDeviceMemoryMiB)
}
