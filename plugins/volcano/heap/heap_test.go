package heap

import (
	"strings"
	"testing"
)

func TestTheLimitIsBelowThatOfTheContainer(t *testing.T) {
	for _, c := range []struct {
		container, own string
		want           int64
		wrong          string
	}{
		{container: "4294967296", want: 3865470567},
		{container: "1", want: 1},
		{container: "9223372036854775807", want: 8301034833169298227},
		{},
		{container: "4294967296", own: "1GiB"},
		{container: "4Gi", wrong: `CONTAINER_MEMORY_LIMIT: "4Gi", expected a number of bytes`},
		{container: "0", wrong: `CONTAINER_MEMORY_LIMIT: "0"`},
		{container: "-5", wrong: `CONTAINER_MEMORY_LIMIT: "-5"`},
	} {
		got, err := Limit(func(name string) string {
			return map[string]string{"CONTAINER_MEMORY_LIMIT": c.container, "GOMEMLIMIT": c.own}[name]
		})
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("container %q, GOMEMLIMIT %q: %d %v, expected %d %q", c.container, c.own, got, err, c.want, c.wrong)
		}
	}
}
