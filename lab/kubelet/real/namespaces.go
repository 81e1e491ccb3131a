// Package real runs tephra-node beside a kubelet and a containerd that are the real programs, as root, in
// namespaces of mounts and of processes of their own: what they write to /var/lib/kubelet is in a folder of the
// test, and nothing of it runs on when the test ends. Its tests need the build tag realkubelet.
package real

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

const (
	insideKey = "TEPHRA_REAL_KUBELET_DIR" // set within the namespaces
	// Root is where the kubelet keeps what it has; other programs find its sockets there.
	Root = "/var/lib/kubelet"
)

// Enter runs this program again in namespaces of its own, with its arguments, and ends with it; within them it
// returns the folder that all of this may be kept in.
func Enter() (dir string, err error) {
	if dir := os.Getenv(insideKey); dir != "" {
		return dir, arrange(dir)
	}
	if os.Geteuid() != 0 {
		return "", fmt.Errorf("user %d: a real kubelet needs root", os.Geteuid())
	}
	if groups, _ := filepath.Glob("/sys/fs/cgroup/*/kubepods*"); len(groups) > 0 {
		return "", fmt.Errorf("%s: another kubelet has containers on this machine, expected none", groups[0])
	}
	if dir, err = os.MkdirTemp("", "tr-"); err != nil {
		return "", err
	}
	code, err := within(dir)
	removeGroups()
	_ = os.RemoveAll(dir)
	if err != nil {
		return "", err
	}
	os.Exit(code)
	return "", nil
}

func within(dir string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread() // Pdeathsig is sent when the thread ends
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	command := exec.CommandContext(signalled, self, os.Args[1:]...) // killed, and with it all in its namespaces
	command.Env = append(os.Environ(), insideKey+"="+dir)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	err = command.Run()
	if _, ended := err.(*exec.ExitError); ended {
		err = nil
	}
	return command.ProcessState.ExitCode(), err
}

// arrange mounts what belongs to these namespaces.
func arrange(dir string) error {
	mount := func(source, target, kind string, flags uintptr) error {
		if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", target, err)
		}
		return nil
	}
	if err := mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", 0); err != nil {
		return err
	}
	for _, folder := range []string{Root, filepath.Join(dir, "kubelet"), filepath.Join(dir, "reports")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if err := mount(filepath.Join(dir, "kubelet"), Root, "", syscall.MS_BIND); err != nil {
		return err
	}
	return mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED) // as on a node
}

// removeGroups removes the control groups that the kubelet leaves; no process is in them any more.
func removeGroups() {
	tops, _ := filepath.Glob("/sys/fs/cgroup/*/kubepods*")
	unified, _ := filepath.Glob("/sys/fs/cgroup/kubepods*")
	for _, top := range append(tops, unified...) {
		var folders []string
		_ = filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		for _, folder := range slices.Backward(folders) {
			_ = syscall.Rmdir(folder)
		}
	}
}
