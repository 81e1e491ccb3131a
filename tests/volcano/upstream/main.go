// Command upstream runs the cases of Volcano's own tests, as JSON files, through Volcano's real cache
// and sessions: with the stock actions that a case names, or with our action in place of
// enqueue, allocate, backfill, reclaim and preempt.
//
//	upstream --cases DIR [--with stock|tephra|same] [--reasons FILE] [--packages LIST] [--case TEXT]
//	         [--output markdown|json|summary]
//
// The exit status is 1 where a case fails: it is not excluded, and ends otherwise for no reason that
// is written, or as expected though one is. The engine's binary is
// ../../build/release/sidecar/tephra-engine or what TEPHRA_ENGINE names.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

var errCasesFail = errors.New("some cases fail")

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func run() error {
	folder := flag.String("cases", "", "folder of the cases")
	with := flag.String("with", "tephra", "tephra, stock, or same: our action in sessions of the whole cluster and in sessions of the plan alone, which must do the same")
	reasonsPath := flag.String("reasons", "", "JSON file with the reasons of cases that differ; empty: none do")
	packages := flag.String("packages", "", "only cases of these packages of Volcano's, with commas between; empty: all")
	only := flag.String("case", "", "only cases whose name contains this")
	output := flag.String("output", "markdown", "markdown, json or summary")
	verbose := flag.Bool("v", false, "print the scheduler's log")
	flag.Parse()
	if !*verbose {
		klog.SetLogger(logr.Discard())
	}
	if *with != "tephra" && *with != "stock" && *with != "same" {
		return fmt.Errorf("--with %q, expected tephra, stock or same", *with)
	}
	cases, err := readCases(*folder)
	if err != nil {
		return err
	}
	reasons, err := readReasons(*reasonsPath)
	if err != nil {
		return err
	}
	var rows []row
	for _, c := range cases {
		if strings.Contains(c.title(), *only) && (*packages == "" || slices.Contains(strings.Split(*packages, ","), c.group())) {
			if *with == "same" {
				rows = append(rows, same(c))
				continue
			}
			rows = append(rows, judge(c, *with == "tephra", reasons[c.title()]))
		}
	}
	switch *output {
	case "json":
		if err := json.NewEncoder(os.Stdout).Encode(rows); err != nil {
			return err
		}
	case "markdown":
		fmt.Print(markdown(rows))
	case "summary":
		fmt.Println(summary(rows))
	default:
		return fmt.Errorf("--output %q, expected markdown, json or summary", *output)
	}
	for _, r := range rows {
		if r.Result == fails {
			return errCasesFail
		}
	}
	return nil
}
