package annotations

import (
	"strings"
	"testing"
)

func TestAUserIsAnyNameThatCanBeSeen(t *testing.T) {
	for _, name := range []string{"ada", "ada@example.com", "system:serviceaccount:team:train", "Ada Lovelace", "Émilie",
		strings.Repeat("a", MaxUserBytes)} {
		if got, err := ParseUser(name); err != nil || got != name {
			t.Errorf("%q: got %q, %v", name, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                  `tephra.sh/user: "", expected a name of 1 to 253 bytes`,
		" ada":                              `tephra.sh/user: " ada", expected a name`,
		"ada\n":                             `tephra.sh/user: "ada\n", expected a name`,
		"a\x00b":                            `tephra.sh/user: "a\x00b", expected a name`,
		"a\xffb":                            `tephra.sh/user: "a\xffb", expected a name`,
		strings.Repeat("a", MaxUserBytes+1): `tephra.sh/user: 254 bytes, expected at most 253 bytes`,
	} {
		if got, err := ParseUser(text); err == nil || got != "" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %q, %v; expected %s", text, got, err, want)
		}
	}
}
