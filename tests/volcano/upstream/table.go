package main

import (
	"fmt"
	"slices"
	"strings"
)

// markdown is what came of the cases: how many by package, the cases that were run, the reasons of cases
// that differ, and a list of cases that were not run, by reason.
func markdown(rows []row) string {
	var out strings.Builder
	out.WriteString(byPackage(rows))
	out.WriteString("\n" + summary(rows) + "\n")
	if differing := of(rows, differs); len(differing) > 0 {
		out.WriteString("\n## Differ\n")
		for _, group := range byReason(differing) {
			fmt.Fprintf(&out, "\n%s:\n\n| case | what | here |\n|---|---|---|\n", group[0].Why)
			for _, r := range group {
				fmt.Fprintf(&out, "| %s | %s | %s |\n", r.Case, cell(r.What), cell(r.With))
			}
		}
	}
	out.WriteString("\n## Run\n\n| case | what | class | result |\n|---|---|---|---|\n")
	for _, r := range rows {
		if r.Result == excluded || r.Result == differs {
			continue
		}
		result := r.Result
		if r.Why != "" {
			result += ": " + r.Why
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.Case, cell(r.What), r.Class, cell(result))
	}
	if left := of(rows, excluded); len(left) > 0 {
		out.WriteString("\n## Excluded\n\n| excluded because | number | cases |\n|---|---|---|\n")
		for _, group := range byReason(left) {
			var titles []string
			for _, r := range group {
				titles = append(titles, r.Case)
			}
			fmt.Fprintf(&out, "| %s | %d | %s |\n", cell(group[0].Why), len(group), strings.Join(titles, ", "))
		}
	}
	return out.String()
}

// byPackage counts the results. REQUIRES: rows of one package stand together.
func byPackage(rows []row) string {
	var out strings.Builder
	out.WriteString("| package | cases | hold | differ for a reason | fail | excluded |\n|---|---|---|---|---|---|\n")
	line := func(name string, rows []row) {
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %d | %d |\n", name, len(rows), len(of(rows, holds)), len(of(rows, differs)),
			len(of(rows, fails)), len(of(rows, excluded)))
	}
	for begin := 0; begin < len(rows); {
		end := begin
		for end < len(rows) && rows[end].group() == rows[begin].group() {
			end++
		}
		line(rows[begin].group(), rows[begin:end])
		begin = end
	}
	line("all", rows)
	return out.String()
}

func (r row) group() string {
	name, _, _ := strings.Cut(r.Case, "/")
	return name
}

func of(rows []row, result string) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Result != result })
}

// byReason are the rows in lists of one reason, the reasons in the order in which they come first.
func byReason(rows []row) (groups [][]row) {
	at := map[string]int{}
	for _, r := range rows {
		if _, known := at[r.Why]; !known {
			at[r.Why] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[r.Why]] = append(groups[at[r.Why]], r)
	}
	return groups
}

func summary(rows []row) string {
	return fmt.Sprintf("%d cases: %d hold, %d differ for a written reason, %d fail, %d are excluded.", len(rows),
		len(of(rows, holds)), len(of(rows, differs)), len(of(rows, fails)), len(of(rows, excluded)))
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), "\n", " "), "|", "\\|")
}
