package annotations

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Mode says how a device is cut for a slice.
type Mode string

const (
	Whole    Mode = "whole"    // the device for this pod alone
	Fraction Mode = "fraction" // a share of compute and memory beside other pods
)

// Slice is the part of one device that one container gets.
type Slice struct {
	UUID      string // of the device; empty where the node's inventory names none
	Index     int    // of the device in the node's inventory
	Mode      Mode
	Compute   int32 // per mille of the device; 0: no share is set aside
	MemoryMiB int32 // 0: none set aside
}

// ContainerSlices are the slices of one container.
type ContainerSlices struct {
	Name   string
	Slices []Slice
}

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
}

// FormatSlices writes version 1. The containers are written in the order given.
func FormatSlices(containers []ContainerSlices) (string, error) {
	one := version
	out := slicesText{Version: &one, Containers: []containerText{}}
	for _, container := range containers {
		written := containerText{Name: container.Name, Slices: []sliceText{}}
		for _, slice := range container.Slices {
			index, compute, memory := int64(slice.Index), int64(slice.Compute), int64(slice.MemoryMiB)
			written.Slices = append(written.Slices,
				sliceText{slice.UUID, &index, slice.Mode, &compute, &memory})
		}
		out.Containers = append(out.Containers, written)
	}
	if _, err := out.read(); err != nil {
		return "", err
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
	slices, err := in.read()
	if err != nil {
		return nil, err
	}
	return slices, nil
}

// read checks what was decoded, or what is about to be written.
func (in *slicesText) read() ([]ContainerSlices, *Error) {
	if err := checkVersion(SlicesKey, in.Version); err != nil {
		return nil, err
	}
	if in.Containers == nil {
		return nil, &Error{SlicesKey, "containers", "absent", "a list"}
	}
	out := make([]ContainerSlices, 0, len(in.Containers))
	named := map[string]bool{}
	for c, container := range in.Containers {
		if name := container.Name; name == "" || named[name] {
			at := fmt.Sprintf("containers[%d].name", c)
			if name == "" {
				return nil, &Error{SlicesKey, at, "empty", "the container's name"}
			}
			return nil, &Error{SlicesKey, at, strconv.Quote(name), "each container once"}
		}
		named[container.Name] = true
		read := ContainerSlices{Name: container.Name}
		for s, slice := range container.Slices {
			checked, err := slice.check()
			if err != nil {
				err.Field = fmt.Sprintf("containers[%d].slices[%d].%s", c, s, err.Field)
				return nil, err
			}
			read.Slices = append(read.Slices, checked)
		}
		out = append(out, read)
	}
	return out, nil
}

// check names the field within the slice. It formats nothing where nothing is wrong: thousands of
// slices are written in one cycle.
func (s *sliceText) check() (Slice, *Error) {
	if err := checkRange(SlicesKey, "index", s.Index, 0, MaxDevices-1); err != nil {
		return Slice{}, err
	}
	if s.Mode != Whole && s.Mode != Fraction {
		return Slice{}, &Error{SlicesKey, "mode", shorten(string(s.Mode)), `"whole" or "fraction"`}
	}
	lowest := int64(0)
	if s.Mode == Whole {
		lowest = WholeGPU
	}
	if err := checkRange(SlicesKey, "compute", s.Compute, lowest, WholeGPU); err != nil {
		return Slice{}, err
	}
	if err := checkRange(SlicesKey, "memoryMiB", s.MemoryMiB, 0, MaxDeviceMemoryMiB); err != nil {
		return Slice{}, err
	}
	return Slice{s.UUID, int(*s.Index), s.Mode, int32(*s.Compute), int32(*s.MemoryMiB)}, nil
}
