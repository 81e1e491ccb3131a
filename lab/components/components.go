// Package components holds every server that a lab consists of, each as the upstream program that it
// is, so that one binary can be any of them: `BINARY component kube-apiserver --flag ...`. One has an
// addition, Volcano's controllers: latePodGroups.
//
// A lab runs each in a process of its own. A fatal error of one then ends that one alone, each can be
// stopped and started again, and upstream's process-wide state (flags, signal handlers, feature gates)
// never meets another's.
package components

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"tephra.sh/lab"
)

var mains = map[string]func(){
	"etcd":                    etcd,
	"kube-apiserver":          kubeAPIServer,
	"kube-controller-manager": kubeControllerManager,
	"kube-scheduler":          kubeScheduler,
	"volcano-controllers":     volcanoControllers,
	"volcano-admission":       volcanoAdmission,
	"volcano-scheduler":       volcanoScheduler,
	"nodes":                   nodes,
}

// RunIfAsked turns the process into the component that its arguments name and does not return; it
// returns at once when they name none. A main, or a TestMain of tests that start labs, calls it first.
func RunIfAsked() {
	if len(os.Args) < 2 || os.Args[1] != lab.ComponentVerb {
		return
	}
	known := strings.Join(slices.Sorted(maps.Keys(mains)), ", ")
	if len(os.Args) < 3 {
		end(fmt.Errorf("component: no name given, expected one of %s", known))
	}
	main, ok := mains[os.Args[2]]
	if !ok {
		end(fmt.Errorf("component %q: unknown, expected one of %s", os.Args[2], known))
	}
	os.Args = os.Args[2:] // what upstream's own main would see
	main()
	os.Exit(0)
}

func end(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
