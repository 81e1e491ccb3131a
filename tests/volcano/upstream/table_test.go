package main

import "testing"

func TestTheTablesCountByPackageAndListByReason(t *testing.T) {
	rows := []row{
		{Case: "a/T-000", What: "one|two", Class: mustEqual, Result: holds},
		{Case: "a/T-001", What: "three", Result: excluded, Why: "no such thing"},
		{Case: "b/T-000", What: "four", Class: mustEqual, Result: differs, Why: "a rule", With: "binds: expected 1, found 2"},
		{Case: "b/T-001", Class: mustEqual, Result: fails, Why: "binds: expected 1, found 0"},
		{Case: "b/T-002", Result: excluded, Why: "no such thing"},
	}
	want := `| package | cases | hold | differ for a reason | fail | excluded |
|---|---|---|---|---|---|
| a | 2 | 1 | 0 | 0 | 1 |
| b | 3 | 0 | 1 | 1 | 1 |
| all | 5 | 1 | 1 | 1 | 2 |

5 cases: 1 hold, 1 differ for a written reason, 1 fail, 2 are excluded.

## Differ

a rule:

| case | what | here |
|---|---|---|
| b/T-000 | four | binds: expected 1, found 2 |

## Run

| case | what | class | result |
|---|---|---|---|
| a/T-000 | one\|two | equal | holds |
| b/T-001 |  | equal | fails: binds: expected 1, found 0 |

## Excluded

| excluded because | number | cases |
|---|---|---|
| no such thing | 2 | a/T-001, b/T-002 |
`
	if got := markdown(rows); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}
