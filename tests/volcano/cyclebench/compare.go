package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tephra.sh/tests/volcano/sink"
)

// size is what was measured on one cluster size: medians over the rounds.
type size struct {
	Nodes      int       `json:"nodes"`
	Placements int       `json:"placements"`
	Rounds     int       `json:"rounds"`
	Stock      sink.Cost `json:"stock"`
	Tephra     sink.Cost `json:"tephra"`
	Ready      sink.Cost `json:"ready"`
	Standing   result    `json:"standing"`
}

type comparison struct {
	Sizes []size `json:"sizes"`
}

func compare(nodes []int, rounds int) (*comparison, error) {
	scratch, err := os.MkdirTemp("", "cyclebench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	report := &comparison{}
	for _, n := range nodes {
		measured, err := compareOn(n, rounds, filepath.Join(scratch, "plan.json"))
		if err != nil {
			return nil, err
		}
		report.Sizes = append(report.Sizes, measured)
	}
	return report, nil
}

func compareOn(nodes, rounds int, plan string) (size, error) {
	costs := map[string][]sink.Cost{}
	for round := range rounds {
		// Tephra goes before the ready plan, which is its; stock Volcano before and after by turns.
		kinds := []string{"stock", "tephra", "ready"}
		if round%2 == 1 {
			kinds = []string{"tephra", "ready", "stock"}
		}
		for _, kind := range kinds {
			got, err := apart(work{Kind: kind, Nodes: nodes, Plan: plan})
			if err != nil {
				return size{}, err
			}
			fmt.Fprintf(os.Stderr, "%d nodes, round %d, %s: %s\n", nodes, round+1, kind, milliseconds(got.Cycle.Wall))
			costs[kind] = append(costs[kind], got.Cycle)
		}
	}
	out := size{Nodes: nodes, Placements: nodes * gpusPerNode, Rounds: rounds,
		Stock: median(costs["stock"]), Tephra: median(costs["tephra"]), Ready: median(costs["ready"])}
	var err error
	out.Standing, err = apart(work{Kind: "standing", Nodes: nodes, Rounds: rounds})
	return out, err
}

// apart measures in a process of its own.
func apart(work work) (result, error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	command := exec.Command(self, "measure", "--kind", work.Kind, "--nodes", strconv.Itoa(work.Nodes),
		"--rounds", strconv.Itoa(work.Rounds), "--plan", work.Plan)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return result{}, fmt.Errorf("measuring %s on %d nodes: %w", work.Kind, work.Nodes, err)
	}
	var got result
	return got, json.Unmarshal(out.Bytes(), &got)
}

func (c *comparison) markdown() string {
	var out strings.Builder
	fmt.Fprintln(&out, "| nodes x 8 GPUs | stock Volcano | Tephra | a ready plan | Tephra above it, a placement | "+
		"times faster than stock | nothing changed, CPU above an empty cycle | with gangs waiting | a gang of 512 adds |")
	fmt.Fprintln(&out, "|---|---|---|---|---|---|---|---|---|")
	for _, s := range c.Sizes {
		above := s.Tephra.Wall - s.Ready.Wall
		fmt.Fprintf(&out, "| %d | %s | %s | %s | %s, %.1f us | %.0f | %s | %s | %s |\n", s.Nodes,
			milliseconds(s.Stock.Wall), milliseconds(s.Tephra.Wall), milliseconds(s.Ready.Wall), milliseconds(above),
			float64(above.Microseconds())/float64(s.Placements), s.Stock.Wall.Seconds()/s.Tephra.Wall.Seconds(),
			milliseconds(s.Standing.Unchanged.CPU-s.Standing.Idle.CPU),
			milliseconds(s.Standing.WaitSame.CPU-s.Standing.WaitIdle.CPU),
			milliseconds(s.Standing.Gang.Wall-s.Standing.GangIdle.Wall))
	}
	return out.String()
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3)
}
