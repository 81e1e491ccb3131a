package annotations

import (
	"math"
	"strconv"
	"time"
)

// Keys of what concerns evictions.
const (
	// EvictionsKey, on a PodGroup, is how often it was evicted.
	EvictionsKey = "tephra.sh/evictions"
	// MinRuntimeKey, on a PodGroup, is how long its pods are left alone from their start.
	MinRuntimeKey = "tephra.sh/min-runtime"
	// CheckpointIntervalKey, on a PodGroup, is how often each of its pods saves its work.
	CheckpointIntervalKey = "tephra.sh/checkpoint-interval"
	// ExpectedRuntimeKey, on a PodGroup, is the run-time estimate of each of its pods, from the pod's start.
	ExpectedRuntimeKey = "tephra.sh/expected-runtime"
	// MovableKey, on a PodGroup, is "true" where its pods may be moved for a gang that finds room in pieces.
	MovableKey = "tephra.sh/movable"
	// OnMigrationKey, on a PodGroup, is "task" if a pod that migrates restarts alone, and "gang" if all pods do.
	OnMigrationKey = "tephra.sh/on-migration"
	// LastCheckpointKey, on a Pod, is when it last saved what it has done.
	LastCheckpointKey = "tephra.sh/last-checkpoint"
)

// FormatEvictions writes a count.
func FormatEvictions(count int32) string { return strconv.FormatInt(int64(count), 10) }

// ParseEvictions reads a count. An error is an *Error.
func ParseEvictions(text string) (int32, error) {
	count, err := strconv.ParseInt(text, 10, 32)
	if err != nil || count < 0 {
		return 0, &Error{EvictionsKey, "", shorten(text), "0 to " + strconv.Itoa(math.MaxInt32)}
	}
	return int32(count), nil
}

// ParseMovable reads whether pods may be moved. An error is an *Error.
func ParseMovable(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, &Error{MovableKey, "", shorten(text), `"true" or "false"`}
	}
	return text == "true", nil
}

// ParseOnMigration reads whether a pod that migrates restarts alone. An error is an *Error.
func ParseOnMigration(text string) (bool, error) {
	if text != "task" && text != "gang" {
		return false, &Error{OnMigrationKey, "", shorten(text), `"task" or "gang"`}
	}
	return text == "task", nil
}

// ParseDuration reads the duration under that key. An error is an *Error.
func ParseDuration(key, text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil || duration < 0 {
		return 0, &Error{key, "", shorten(text), `a duration such as "10m" or "1h30m"`}
	}
	return duration, nil
}

// ParseLastCheckpoint reads a point in time. An error is an *Error.
func ParseLastCheckpoint(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Unix() < 0 {
		return time.Time{}, &Error{LastCheckpointKey, "", shorten(text), `a time such as "2026-01-31T12:00:00Z"`}
	}
	return at, nil
}
