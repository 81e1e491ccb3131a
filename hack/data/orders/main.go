// Writes the arrival order of one run of the published openb experiment (FGD, USENIX ATC'23).
//
//	orders NODES.csv PODS.csv SEED
//
// The experiment draws all of its chances from one generator of math/rand. This program draws the same numbers in the
// same order: one for a log line, the shuffle of the pods, clones of random pods until 130 % of the cluster's GPUs are
// asked for (or random pods removed until at most that is), ten by the API client, and the permutation that names the nodes.
// Output: the number of pods, the row of each pod in order of arrival, the number of nodes, and each node with its key.
package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
)

const (
	arrivesPercent = 130  // of the GPUs of the cluster
	drawnByClient  = 10   // numbers that the experiment's API client draws between the pods and the nodes
	wholeGPU       = 1000 // milli
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("%d arguments, expected NODES.csv PODS.csv SEED", len(arguments))
	}
	nodes, err := read(arguments[0], "sn", "gpu")
	if err != nil {
		return err
	}
	pods, err := read(arguments[1], "name", "num_gpu", "gpu_milli")
	if err != nil {
		return err
	}
	seed, err := strconv.ParseInt(arguments[2], 10, 64)
	if err != nil {
		return fmt.Errorf("seed %q: expected a number", arguments[2])
	}

	dice := rand.New(rand.NewSource(seed))
	dice.Int()
	order := make([]int, len(pods))
	for i := range order {
		order[i] = i
	}
	dice.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })

	asked, target := 0, 0
	for _, pod := range pods {
		asked += pod.amounts[0] * min(pod.amounts[1], wholeGPU)
	}
	for _, node := range nodes {
		target += node.amounts[0] * wholeGPU * arrivesPercent / 100
	}
	removes := asked > target
	for asked > target {
		at := dice.Intn(len(order))
		pod := pods[order[at]]
		asked -= pod.amounts[0] * min(pod.amounts[1], wholeGPU)
		order = slices.Delete(order, at, at+1)
	}
	for !removes {
		at := dice.Intn(len(pods))
		// As the experiment does, this compares the part of one GPU, and then counts all of the pod's GPUs.
		part := min(pods[at].amounts[1], wholeGPU)
		if asked+part > target {
			break
		}
		order = append(order, at)
		asked += pods[at].amounts[0] * part
	}
	for range drawnByClient {
		dice.Float64()
	}

	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, len(order))
	for _, row := range order {
		fmt.Fprintln(out, row)
	}
	fmt.Fprintln(out, len(nodes))
	for i, key := range dice.Perm(len(nodes)) {
		fmt.Fprintln(out, nodes[i].name, key)
	}
	return out.Flush()
}

// row is a node or pod: its name, and the columns that were asked for.
type row struct {
	name    string
	amounts []int
}

func read(path, name string, columns ...string) ([]row, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(lines) < 2 {
		return nil, fmt.Errorf("%s: %d lines, expected a header and rows", path, len(lines))
	}
	column := func(name string) (int, error) {
		if at := slices.Index(lines[0], name); at >= 0 {
			return at, nil
		}
		return 0, fmt.Errorf("%s: no column %q in %v", path, name, lines[0])
	}
	named, err := column(name)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(lines)-1)
	for i, line := range lines[1:] {
		rows[i].name = line[named]
		for _, wanted := range columns {
			at, err := column(wanted)
			if err != nil {
				return nil, err
			}
			amount, err := strconv.Atoi(line[at])
			if err != nil || amount < 0 {
				return nil, fmt.Errorf("%s:%d: %s is %q, expected a number of at least 0", path, i+2, wanted, line[at])
			}
			rows[i].amounts = append(rows[i].amounts, amount)
		}
	}
	return rows, nil
}
