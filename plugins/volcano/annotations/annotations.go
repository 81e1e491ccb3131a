// Package annotations reads and writes the annotations that Tephra adds to Kubernetes objects: the
// slices of a pod, written with its binding and read by the node; the GPU inventory of a node,
// written by the node and read by the scheduler; the room that is reserved for a pod group and how
// often it was evicted, written by the scheduler for the one that comes after it. It also reads what
// owners say about evictions and about themselves, and the inventory that Volcano's own device plugin writes.
//
// docs/reference/annotations.md is the contract. A reader takes fields that it does not know for absent; it
// refuses a version that it does not know, and what it refuses it refuses whole.
package annotations

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	kjson "sigs.k8s.io/json"
)

// Keys of the annotations.
const (
	SlicesKey       = "tephra.sh/slices"
	InventoryKey    = "tephra.sh/gpu-inventory"
	VGPURegisterKey = "volcano.sh/node-vgpu-register"
)

// Largest values that are read, in bytes. Kubernetes keeps 256 KiB of annotations on one object,
// all of them together.
const (
	MaxSlicesBytes    = 64 << 10
	MaxInventoryBytes = 256 << 10
)

// What the engine takes at most: devices of a node, and memory of a device or slice (a PiB).
const (
	MaxDevices         = 1<<16 - 1
	MaxDeviceMemoryMiB = 1 << 30
)

const version = 1

// WholeGPU is the compute share of a whole device, in per mille.
const WholeGPU = 1000

// Error says which field of which annotation is wrong.
type Error struct {
	Annotation string // its key
	Field      string // a path such as "containers[0].slices[1].mode"; empty: the whole value
	Value      string // as found
	Expected   string
}

func (e *Error) Error() string {
	at := e.Annotation
	if e.Field != "" {
		at += ": " + e.Field
	}
	return fmt.Sprintf("%s: %s, expected %s", at, e.Value, e.Expected)
}

// decode fills `into` from the text of an annotation whose largest size is `limit`.
func decode(key, text string, limit int, into any) *Error {
	if err := checkSize(key, text, limit); err != nil {
		return err
	}
	err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), into)
	if err == nil {
		return nil
	}
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		return &Error{key, typed.Field, "a " + typed.Value, "a " + typed.Type.String()}
	}
	return &Error{key, "", shorten(text), "JSON (" + err.Error() + ")"}
}

func checkSize(key, text string, limit int) *Error {
	if len(text) > limit {
		return &Error{key, "", fmt.Sprintf("%d bytes", len(text)), fmt.Sprintf("at most %d bytes", limit)}
	}
	return nil
}

// checkVersion refuses an absent version and any but 1.
func checkVersion(key string, found *int) *Error {
	if found == nil {
		return &Error{key, "version", "absent", "1"}
	}
	if *found != version {
		return &Error{key, "version", strconv.Itoa(*found), "1"}
	}
	return nil
}

// shorten keeps an error readable whatever the annotation holds.
func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(text[:most]) + "..."
	}
	return strconv.Quote(text)
}

// checkRange refuses an absent number and one outside low to high.
func checkRange(key, field string, found *int64, low, high int64) *Error {
	if found != nil && *found >= low && *found <= high {
		return nil
	}
	value := "absent"
	if found != nil {
		value = strconv.FormatInt(*found, 10)
	}
	return &Error{key, field, value, fmt.Sprintf("%d to %d", low, high)}
}
