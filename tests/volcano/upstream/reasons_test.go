package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestEachCaseHasAtMostOneReason(t *testing.T) {
	for text, want := range map[string]string{
		`[{"reason": "a rule", "cases": ["p/T-000", "p/T-001"]}, {"reason": "another", "cases": ["p/T-002"]}]`: "",
		`[{"reason": "a rule", "cases": ["p/T-000"]}, {"reason": "another", "cases": ["p/T-000"]}]`:            `[1].cases: "p/T-000" has a reason already`,
		`[{"reason": "", "cases": ["p/T-000"]}]`:                                                               "[0].reason: empty",
		`[{"reason": "a rule", "case": ["p/T-000"]}]`:                                                          `unknown field "case"`,
		`[{"reason": "a rule", "cases": ["p/T-000"]}] trash`:                                                   "more than one list",
	} {
		reasons, err := parseReasons([]byte(text))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want == "" && !reflect.DeepEqual(reasons, map[string]string{"p/T-000": "a rule", "p/T-001": "a rule", "p/T-002": "another"}):
			t.Errorf("%s: %v", text, reasons)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: error %v, expected %q", text, err, want)
		}
	}
}
