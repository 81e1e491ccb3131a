package annotations

import (
	"fmt"
	"strings"
	"unicode"
)

// UserKey, on a PodGroup, is whose it is, for shares among the users of a queue.
const UserKey = "tephra.sh/user"

// MaxUserBytes is what other names in Kubernetes have at most.
const MaxUserBytes = 253

// ParseUser reads a user's name, which is any text that can be seen. An error is an *Error.
func ParseUser(text string) (string, error) {
	if err := checkSize(UserKey, text, MaxUserBytes); err != nil {
		return "", err
	}
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if text == "" || strings.TrimSpace(text) != text || strings.ContainsFunc(text, hidden) {
		return "", &Error{UserKey, "", shorten(text),
			fmt.Sprintf("a name of 1 to %d bytes, printable and without spaces around it", MaxUserBytes)}
	}
	return text, nil
}
