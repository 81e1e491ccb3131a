// Package heap keeps a Go program below the memory limit of its container.
package heap

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// limitVariable is set by the manifests: the limit of the container, in bytes.
const limitVariable = "CONTAINER_MEMORY_LIMIT"

// Limit is 90 % of the limit of the container: the rest is for memory that Go does not count, such as stacks of the
// system and mapped files. Go then collects garbage before the kernel would kill the program. 0: nothing is set, or
// GOMEMLIMIT says something else.
func Limit(getenv func(string) string) (int64, error) {
	text := getenv(limitVariable)
	if text == "" || getenv("GOMEMLIMIT") != "" {
		return 0, nil
	}
	bytes, err := strconv.ParseInt(text, 10, 64)
	if err != nil || bytes <= 0 {
		return 0, fmt.Errorf("environment variable %s: %q, expected a number of bytes from 1 to %d", limitVariable, text, int64(math.MaxInt64))
	}
	return bytes - bytes/10, nil
}

// KeepBelow sets the Limit of this process.
func KeepBelow() error {
	bytes, err := Limit(os.Getenv)
	if err == nil && bytes > 0 {
		debug.SetMemoryLimit(bytes)
	}
	return err
}
