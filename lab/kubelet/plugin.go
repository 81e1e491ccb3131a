package kubelet

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// NodeName is the node's name in the cluster.
const NodeName = "node-a"

// Resource is what pods ask for.
const Resource = "tephra.sh/gpu-slot"

// GPUMemoryMiB is what each GPU has.
const GPUMemoryMiB = 81559

// Plugin is a tephra-node process that may be ended and begun again.
type Plugin struct {
	Binary string
	Dir    string // of the kubelet; what the plugin keeps is below too
	API    *API
	GPUs   int
	Flags  []string
	Env    []string // of the next start
	// The driver's library, with what Env tells it of the GPUs; empty: a file describes them.
	Driver string

	process *exec.Cmd
	done    chan error
}

// UUID is the name of a GPU of the node.
func UUID(gpu int) string { return fmt.Sprintf("GPU-0000%04d-aaaa-bbbb-cccc-000000000000", gpu) }

// Prepare makes the files that the plugin finds on a node: the GPUs, their device nodes, which are
// pipes here, for those need no root, and the hook library.
func (p *Plugin) Prepare() error {
	type device struct {
		UUID      string `json:"uuid"`
		Model     string `json:"model"`
		MemoryMiB int    `json:"memoryMiB"`
		NUMA      int    `json:"numa"`
	}
	var gpus struct {
		Devices []device `json:"devices"`
	}
	nodes := []string{"nvidiactl", "nvidia-uvm"}
	for gpu := range p.GPUs {
		gpus.Devices = append(gpus.Devices, device{UUID(gpu), "NVIDIA H100 80GB HBM3", GPUMemoryMiB, gpu * 2 / p.GPUs})
		nodes = append(nodes, "nvidia"+strconv.Itoa(gpu))
	}
	if err := os.MkdirAll(p.path("root/dev"), 0o755); err != nil {
		return err
	}
	for _, node := range nodes {
		if err := syscall.Mkfifo(p.path("root/dev", node), 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(gpus)
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"gpus.json": string(text), "libvgpu.so.1": "", "ld.so.preload": "/usr/local/vgpu/libvgpu.so\n",
	} {
		if err := os.WriteFile(p.path(name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plugin) path(parts ...string) string {
	return filepath.Join(append([]string{p.Dir}, parts...)...)
}

// Start begins the process; it does not wait until it is registered.
func (p *Plugin) Start() error {
	log, err := os.OpenFile(p.path("plugin.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	gpus := "--gpus=" + p.path("gpus.json")
	if p.Driver != "" {
		gpus = "--nvml=" + p.Driver
	}
	args := append([]string{
		"run", "--node-name=" + NodeName, gpus, "--slots-per-gpu=100", "--cdi=yes",
		"--kubelet-folder=" + p.path("device-plugins"), "--cdi-folder=" + p.path("cdi"), "--state-folder=" + p.path("state"),
		"--pod-resources=" + p.path("pod-resources.sock"), "--cgroup-root=" + p.path("cgroup"), "--device-root=" + p.path("root"),
		"--hook-library=" + p.path("libvgpu.so.1"), "--hook-preload=" + p.path("ld.so.preload"),
		"--api-server=" + p.API.URL, "--api-ca=" + p.API.CA, "--api-token=" + p.API.Token,
	}, p.Flags...)
	p.process = exec.Command(p.Binary, args...)
	p.process.Stdout, p.process.Stderr = log, log
	p.process.Env = append(os.Environ(), p.Env...)
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.process.Start(); err != nil {
		return err
	}
	p.done = make(chan error, 1)
	go func(process *exec.Cmd, done chan<- error) { done <- process.Wait() }(p.process, p.done)
	return nil
}

// End sends the signal and waits until the process has ended.
func (p *Plugin) End(signal syscall.Signal) error {
	_ = p.process.Process.Signal(signal)
	err := p.Ended(20 * time.Second)
	if err != nil {
		_ = p.process.Process.Kill()
	}
	return err
}

// Ended waits until the process has ended by itself.
func (p *Plugin) Ended(within time.Duration) error {
	select {
	case <-p.done:
		return nil
	case <-time.After(within):
		return fmt.Errorf("tephra-node did not end within %v", within)
	}
}

// Status is what `tephra-node status --json` prints.
type Status struct {
	Registered    bool
	Registrations int
	Lists         int
	APIFault      string
	Allocate      struct{ Calls, P50Us, P99Us int64 }
	PreStart      struct{ Calls, P50Us, P99Us, Refused int64 }
	Holdings      []struct {
		Nonce, PodUID, Container string
		Bound                    bool
	}
	Problems []struct{ Kind, Subject, Text string }
}

// Status asks the process.
func (p *Plugin) Status() (status Status, err error) {
	text, err := exec.Command(p.Binary, "status", "--json", "--state-folder="+p.path("state")).Output()
	if err != nil {
		return status, err
	}
	return status, json.Unmarshal(text, &status)
}

// Address is where the process serves HTTP, from its log; it has to have been started with --metrics-address.
func (p *Plugin) Address() (string, error) {
	log, err := os.ReadFile(p.path("plugin.log"))
	if err != nil {
		return "", err
	}
	ports := servedAt.FindAllSubmatch(log, -1)
	if len(ports) == 0 {
		return "", fmt.Errorf("plugin.log names no port")
	}
	return "127.0.0.1:" + string(ports[len(ports)-1][1]), nil
}

// Get sends one GET request to Address.
func (p *Plugin) Get(path string) (code int, text string, err error) {
	address, err := p.Address()
	if err != nil {
		return 0, "", err
	}
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

var servedAt = regexp.MustCompile(`metrics are served port=(\d+)`)

// ResidentKiB and CPU are what the process takes of memory now, and of processors since its start.
func (p *Plugin) ResidentKiB() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			return strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}

// CPU is the processor time of all its threads since its start.
func (p *Plugin) CPU() (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.process.Process.Pid))
	var sum int64
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has just ended
		}
		nanoseconds, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += nanoseconds
	}
	return time.Duration(sum), err
}

// Pid is the process' number.
func (p *Plugin) Pid() int { return p.process.Process.Pid }
