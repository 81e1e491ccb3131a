package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopGrace is how long a process asked to stop may take; killed afterwards.
const stopGrace = 15 * time.Second

// Process is one program that a test starts and stops. It dies with the test binary. Its log is
// kept over restarts.
type Process struct {
	Name string
	Log  string // path of its standard output and error
	Path string
	Args []string
	Env  []string // beside the test's own

	mu      sync.Mutex
	command *exec.Cmd
	ended   chan struct{}
}

// NewProcess prepares a process that the end of the cluster kills; it does not run yet.
func (c *Cluster) NewProcess(name, path string, args ...string) *Process {
	p := &Process{Name: name, Log: filepath.Join(c.Dir, name+".log"), Path: path, Args: args}
	c.more = append(c.more, p)
	return p
}

// Launch returns when the process runs.
func (p *Process) Launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("%s: runs already", p.Name)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(p.Path, p.Args...)
	command.Env = append(os.Environ(), p.Env...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ended, started := make(chan struct{}), make(chan error)
	go func() {
		// Pdeathsig comes when the thread that made the child ends, so that thread waits for it.
		runtime.LockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	p.command, p.ended = command, ended
	return nil
}

// Stop asks the process to end, and returns when it has.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

// Kill ends it without a word.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

func (p *Process) end(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return
	}
	_ = p.command.Process.Signal(signal)
	select {
	case <-p.ended:
	case <-time.After(stopGrace):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// Alive says whether the process runs.
func (p *Process) Alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// Pid of the latest process; 0 before the first.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		return 0
	}
	return p.command.Process.Pid
}

func (p *Process) running() bool {
	if p.command == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *Process) state() string {
	if p.Alive() {
		return "alive"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		return "never started"
	}
	return p.command.ProcessState.String()
}

// Said is everything that the process wrote so far.
func (p *Process) Said() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Tail are the last lines of it.
func (p *Process) Tail(lines int) string {
	all := strings.Split(strings.TrimSpace(p.Said()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
