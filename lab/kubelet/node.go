package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Node is a kubelet, an API server and a tephra-node that is registered with the kubelet.
type Node struct {
	Kubelet *Kubelet
	API     *API
	Plugin  *Plugin
	// Held for reading while a pod is admitted: the scheduler sends none to a node that shows no devices.
	Admission sync.RWMutex
}

// StartNode keeps its files in dir, whose path must be short enough for sockets in it. Its API server
// knows pods alone, so the plugin says nothing of the node.
func StartNode(dir string, gpus int, flags ...string) (*Node, error) {
	api, err := StartAPI(dir)
	if err != nil {
		return nil, err
	}
	return StartNodeOf(api, dir, gpus, append(flags, "--no-publish")...)
}

// StartNodeOf is the same with an API server that is there.
func StartNodeOf(api *API, dir string, gpus int, flags ...string) (*Node, error) {
	binary, err := FindPlugin()
	if err != nil {
		return nil, err
	}
	n := &Node{API: api}
	if n.Kubelet, err = StartKubelet(dir); err != nil {
		return nil, err
	}
	n.Plugin = &Plugin{Binary: binary, Dir: dir, API: n.API, GPUs: gpus, Flags: flags}
	if machine := os.Getenv(MachineVariable); machine != "" {
		if err := n.Plugin.drive(machine, filepath.Join(filepath.Dir(binary), "../../tests/tools/fake_nvml/libnvidia-ml.so.1")); err != nil {
			return nil, err
		}
	}
	if err := n.Plugin.Prepare(); err != nil {
		return nil, err
	}
	if err := n.Plugin.Start(); err != nil {
		return nil, err
	}
	return n, n.Ready()
}

// FindPlugin is the binary of the release build, or what TEPHRA_NODE names.
func FindPlugin() (string, error) {
	const built = "build/release/plugins/node/tephra-node"
	if named := os.Getenv("TEPHRA_NODE"); named != "" {
		return filepath.Abs(named)
	}
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, built)); err == nil {
			return filepath.Join(dir, built), nil
		}
		if dir == filepath.Dir(dir) {
			err = fmt.Errorf("no %s above the working directory, expected what the release preset makes; TEPHRA_NODE names another", built)
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Ready waits until the kubelet has all slots of the plugin.
func (n *Node) Ready() error {
	all := int64(n.Plugin.GPUs * 100)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, healthy := n.Kubelet.Capacity(Resource)
		if healthy == all {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the kubelet has %d healthy slots after 20 s, expected %d", healthy, all)
		}
	}
}

// RestartPlugin ends the plugin by the signal and begins it again after a while.
func (n *Node) RestartPlugin(signal syscall.Signal, after time.Duration) error {
	n.Admission.Lock()
	defer n.Admission.Unlock()
	if err := n.Plugin.End(signal); err != nil {
		return err
	}
	time.Sleep(after)
	if err := n.Plugin.Start(); err != nil {
		return err
	}
	return n.readyAgain()
}

// RestartKubelet is a restart of the device manager.
func (n *Node) RestartKubelet() error {
	n.Admission.Lock()
	defer n.Admission.Unlock()
	if err := n.Kubelet.Restart(); err != nil {
		return err
	}
	return n.Ready()
}

// readyAgain waits until the kubelet has seen that the old process is gone, and has the new one's slots.
func (n *Node) readyAgain() error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		status, err := n.Plugin.Status()
		if err == nil && status.Registered {
			return n.Ready()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not registered after 20 s: %v, %+v", err, status)
		}
	}
}

// Stop ends all of it.
func (n *Node) Stop() {
	_ = n.Plugin.End(syscall.SIGKILL)
	n.Kubelet.Stop()
	n.API.Stop()
}
