package real

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"tephra.sh/lab/kubelet"
)

// Image is the one that all containers have; it holds the program sees.
const Image = "tephra.test/sees:1"

// Programs are where the real programs are.
type Programs struct {
	Containerd string // a folder, with its shim and ctr
	Kubelet    []string
}

// Machine is a node: containerd, and a kubelet that may be ended and begun again.
type Machine struct {
	dir        string
	kubeconfig string
	programs   Programs
	containerd *process
	kubelet    *process
}

type process struct {
	command *exec.Cmd
	ended   chan struct{}
}

// begin starts a program that ends with this one; what it says is added to the log.
func begin(log string, env []string, name string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{command: exec.Command(name, args...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = out, out
	p.command.Env = append(os.Environ(), env...)
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) end(signal syscall.Signal) {
	_ = p.command.Process.Signal(signal)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

const containerdConfig = `version = 3
root = "DIR/containerd"
state = "DIR/run/containerd"
[grpc]
  address = "DIR/containerd.sock"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "IMAGE"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  cdi_spec_dirs = ["ROOT/cdi"]
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

// The node is ready for pods on the host's network alone, since there is no CNI.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://DIR/containerd.sock
podLogsDir: DIR/logs
failCgroupV1: false
cgroupDriver: cgroupfs
failSwapOn: false
localStorageCapacityIsolation: false
address: 127.0.0.1
port: 0
healthzPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
evictionHard: {memory.available: "100Mi"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
maxPods: 400
kubeAPIQPS: 500
kubeAPIBurst: 1000
crashLoopBackOff: {maxContainerRestartPeriod: 2s}
featureGates: {KubeletCrashLoopBackOffMax: true}
`

// Start returns when containerd has the image; the kubelet is begun by hand.
func Start(ctx context.Context, dir, kubeconfig string, programs Programs) (*Machine, error) {
	m := &Machine{dir: dir, kubeconfig: kubeconfig, programs: programs}
	filled := strings.NewReplacer("DIR", dir, "ROOT", Root, "IMAGE", Image)
	for name, text := range map[string]string{"containerd.toml": containerdConfig, "kubelet.yaml": kubeletConfig} {
		if err := os.WriteFile(m.path(name), []byte(filled.Replace(text)), 0o600); err != nil {
			return nil, err
		}
	}
	archive, err := m.image(ctx)
	if err != nil {
		return nil, err
	}
	path := "PATH=" + programs.Containerd + ":" + os.Getenv("PATH") // where it looks for its shim
	if m.containerd, err = begin(m.path("containerd.log"), []string{path}, filepath.Join(programs.Containerd, "containerd"), "--config="+m.path("containerd.toml")); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if err = m.ctr(ctx, "images", "import", "--local", "--base-name", strings.TrimSuffix(Image, ":1"), archive); err == nil || time.Now().After(deadline) {
			return m, err
		}
	}
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *Machine) ctr(ctx context.Context, args ...string) error {
	args = append([]string{"--address", m.path("containerd.sock"), "--namespace", "k8s.io"}, args...)
	return run(ctx, "", filepath.Join(m.programs.Containerd, "ctr"), args...)
}

func run(ctx context.Context, dir, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// image packs the program sees, and nothing else, as an OCI archive; no registry is asked.
func (m *Machine) image(ctx context.Context) (archive string, err error) {
	layer, layout := m.path("layer"), m.path("layout")
	if err := os.MkdirAll(layer, 0o755); err != nil {
		return "", err
	}
	for _, command := range [][]string{
		{"go", "build", "-mod=readonly", "-trimpath", "-o", filepath.Join(layer, "sees"), "tephra.sh/lab/kubelet/real/sees"},
		{"tar", "-C", layer, "-cf", m.path("layer.tar"), "."},
		{"umoci", "init", "--layout", layout},
		{"umoci", "new", "--image", layout + ":1"},
		{"umoci", "raw", "add-layer", "--image", layout + ":1", m.path("layer.tar")},
		{"umoci", "config", "--image", layout + ":1", "--config.entrypoint", "/sees"},
		{"tar", "-C", layout, "-cf", m.path("image.tar"), "."},
	} {
		if err := run(ctx, "", command[0], command[1:]...); err != nil {
			return "", err
		}
	}
	return m.path("image.tar"), nil
}

// StartKubelet begins the kubelet.
func (m *Machine) StartKubelet() (err error) {
	args := append(m.programs.Kubelet[1:],
		"--config="+m.path("kubelet.yaml"), "--kubeconfig="+m.kubeconfig, "--root-dir="+Root, "--cert-dir="+m.path("certificates"),
		"--hostname-override="+kubelet.NodeName, "--v=2")
	m.kubelet, err = begin(m.path("kubelet.log"), nil, m.programs.Kubelet[0], args...)
	return err
}

// StopKubelet ends the kubelet by the signal; containers go on.
func (m *Machine) StopKubelet(signal syscall.Signal) { m.kubelet.end(signal) }

// Stop ends kubelet and containerd.
func (m *Machine) Stop() {
	m.StopKubelet(syscall.SIGKILL)
	m.containerd.end(syscall.SIGTERM)
}

// Versions are those of what was run.
func (m *Machine) Versions(ctx context.Context) string {
	var said []string
	for _, command := range [][]string{append(m.programs.Kubelet, "--version"), {filepath.Join(m.programs.Containerd, "containerd"), "--version"}, {"runc", "--version"}, {"uname", "-r"}} {
		out, _ := exec.CommandContext(ctx, command[0], command[1:]...).Output()
		line, _, _ := strings.Cut(string(out), "\n")
		said = append(said, line)
	}
	return strings.Join(said, "; ") + "; " + runtime.GOARCH
}

// Report is what one start of a container saw, as the program sees writes it.
type Report struct {
	UID, Container string
	Env            []string
	Devices        []string
	Denied         []string
	Mounts         map[string]string
	Slices         string
	Taken          []string
}

// Reports are those files that are not in `read` yet; each is then.
func Reports(dir string, read map[string]bool) (found []Report, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "reports", "*.json"))
	for _, file := range files {
		if read[file] {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return found, err
		}
		var one Report
		if err := json.Unmarshal(text, &one); err != nil {
			return found, fmt.Errorf("%s: %w", file, err)
		}
		read[file] = true
		found = append(found, one)
	}
	return found, err
}

// Differs says how what the container saw is not just the slices; "" where it is. Its copy of the mounted
// directory is kept in dir.
func (r Report) Differs(dir string, given []kubelet.Slice) string {
	if len(r.Denied) > 0 {
		return fmt.Sprintf("may not open %v", r.Denied)
	}
	if len(r.Taken) > 0 {
		return fmt.Sprintf("%v are another's", r.Taken)
	}
	sees := &kubelet.Sees{Env: r.Env, Devices: r.Devices, Mounts: map[string]string{}}
	for path, source := range r.Mounts {
		sees.Mounts[path] = source
	}
	sees.Mounts["/run/tephra"] = dir
	if err := os.WriteFile(filepath.Join(dir, "slices.json"), []byte(r.Slices), 0o600); err != nil {
		return err.Error()
	}
	return sees.Differs(given)
}
