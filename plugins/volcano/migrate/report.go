// Package migrate reads a cluster on which HAMi, NVIDIA's device plugin, Volcano's vGPU plugin or KAI gives GPUs to pods. It lists,
// object by object, what a move to Tephra changes and what blocks it. It only reads.
package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Status of a finding.
type Status string

const (
	Change Status = "change" // a step of the migration changes the object
	Block  Status = "block"  // the migration would stop here, or a pod would not come back as it was
)

// Finding is one fact about one object.
type Finding struct {
	Status    Status `json:"status"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	What      string `json:"what"`
	Do        string `json:"do"`
}

// Stack is a program that gives GPUs to pods today, and where.
type Stack struct {
	Name  string `json:"name"`
	Nodes int    `json:"nodes"`
	GPUs  int    `json:"gpus"`
}

// Report is the answer of a check.
type Report struct {
	Version   int       `json:"version"`
	Mode      Mode      `json:"mode"`
	Stacks    []Stack   `json:"stacks"`
	Workloads int       `json:"workloads"` // objects whose pods request GPUs
	Pods      int       `json:"pods"`      // their pods that have a node
	Blocks    int       `json:"blocks"`
	Findings  []Finding `json:"findings"`
}

// The order of the report is the order of the work: rules of the whole cluster, then nodes, then workloads.
var kinds = []string{"ConfigMap", "MutatingWebhookConfiguration", "DaemonSet", "Queue", "Node", "PodDisruptionBudget"}

func (r *Report) finish() {
	place := func(kind string) int {
		if at := slices.Index(kinds, kind); at >= 0 {
			return at
		}
		return len(kinds)
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(place(a.Kind), place(b.Kind)), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Status, b.Status), cmp.Compare(a.What, b.What))
	})
	slices.SortFunc(r.Stacks, func(a, b Stack) int { return cmp.Compare(a.Name, b.Name) })
	for _, finding := range r.Findings {
		if finding.Status == Block {
			r.Blocks++
		}
	}
}

// Write prints the report as "table" or "json".
func (r *Report) Write(out io.Writer, form string) error {
	if form == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	}
	for _, stack := range r.Stacks {
		fmt.Fprintf(out, "%s: %d GPUs on %d nodes\n", stack.Name, stack.GPUs, stack.Nodes)
	}
	if len(r.Stacks) == 0 {
		fmt.Fprintln(out, "No node has GPUs of HAMi, NVIDIA's device plugin or Volcano's vGPU plugin.")
	}
	fmt.Fprintf(out, "%d pods of %d workloads request GPUs.\n", r.Pods, r.Workloads)
	if len(r.Findings) > 0 {
		fmt.Fprintln(out)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "STATUS\tOBJECT\tWHAT, AND WHAT TO DO")
		for _, f := range r.Findings {
			name := f.Name
			if f.Namespace != "" {
				name = f.Namespace + "/" + name
			}
			fmt.Fprintf(table, "%s\t%s %s\t%s\n\t\tdo: %s\n", f.Status, f.Kind, name, oneLine(f.What), oneLine(f.Do))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	_, err := fmt.Fprintf(out, "Findings that block: %d. Changes: %d. The check changed nothing.\n", r.Blocks, len(r.Findings)-r.Blocks)
	return err
}

// oneLine keeps text of the cluster from breaking the table.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}
