package main

import (
	"fmt"
	"strings"
)

// markdown is a table of the cases that were run, and a list of those that were not, by reason.
func markdown(rows []row) string {
	var out strings.Builder
	var reasons []string
	left := map[string][]string{}
	fmt.Fprintln(&out, "| case | what | class | result |")
	fmt.Fprintln(&out, "|---|---|---|---|")
	for _, r := range rows {
		if r.Result == excluded {
			if left[r.Why] == nil {
				reasons = append(reasons, r.Why)
			}
			left[r.Why] = append(left[r.Why], r.Case)
			continue
		}
		result := r.Result
		if r.Why != "" {
			result += ": " + r.Why
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.Case, cell(r.What), r.Class, cell(result))
	}
	fmt.Fprintf(&out, "\n%s\n", summary(rows))
	if len(reasons) > 0 {
		fmt.Fprintln(&out, "\n| excluded because | cases |")
		fmt.Fprintln(&out, "|---|---|")
	}
	for _, why := range reasons {
		fmt.Fprintf(&out, "| %s | %s |\n", cell(why), strings.Join(left[why], ", "))
	}
	return out.String()
}

func summary(rows []row) string {
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.Result]++
	}
	return fmt.Sprintf("%d cases: %d hold, %d fail, %d are excluded.", len(rows), counts[holds], counts[fails],
		counts[excluded])
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), "\n", " "), "|", "\\|")
}
