package e2e

import (
	"fmt"
	"os"
	"path/filepath"
)

// Programs are the paths of what runs. Each is taken from the environment variable named beside it
// where it is empty, and from the build tree where that is empty too.
type Programs struct {
	Lab       string // TEPHRA_LAB
	Kubectl   string // TEPHRA_KUBECTL
	Vcctl     string // TEPHRA_VCCTL
	Engine    string // TEPHRA_ENGINE
	Scheduler string // TEPHRA_SCHEDULER
	Admission string // TEPHRA_ADMISSION
	Tephra    string // TEPHRA: the command line
	Manifests string // TEPHRA_MANIFESTS: the folder of kustomizations
}

func (p Programs) Found() (Programs, error) {
	root, err := repository()
	if err != nil {
		return p, err
	}
	for _, one := range []struct {
		path     *string
		variable string
		built    string
		hint     string
	}{
		{&p.Lab, "TEPHRA_LAB", "build/lab/tephra-lab", "hack/build-lab.sh"},
		{&p.Kubectl, "TEPHRA_KUBECTL", "build/lab/kubectl", "hack/build-lab.sh"},
		{&p.Vcctl, "TEPHRA_VCCTL", "build/lab/vcctl", "hack/build-lab.sh"},
		{&p.Engine, "TEPHRA_ENGINE", "build/release/sidecar/tephra-engine", "the release preset"},
		{&p.Scheduler, "TEPHRA_SCHEDULER", "build/scheduler/tephra-scheduler", "hack/build-scheduler.sh"},
		{&p.Admission, "TEPHRA_ADMISSION", "build/scheduler/tephra-admission", "hack/build-scheduler.sh"},
		{&p.Tephra, "TEPHRA", "build/release/simulations/tephra", "the release preset"},
		{&p.Manifests, "TEPHRA_MANIFESTS", "manifests", "a whole checkout"},
	} {
		if *one.path == "" {
			*one.path = os.Getenv(one.variable)
		}
		if *one.path == "" {
			*one.path = filepath.Join(root, one.built)
		}
		if *one.path, err = filepath.Abs(*one.path); err != nil {
			return p, err
		}
		if _, err := os.Stat(*one.path); err != nil {
			return p, fmt.Errorf("%w, expected what %s makes; %s names another", err, one.hint, one.variable)
		}
	}
	return p, nil
}

// repository is the folder above the working directory that holds lab/go.mod.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "lab", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("working directory %s: not inside the repository", start)
		}
	}
}
