package lab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ComponentVerb is the first argument by which a binary is asked to be one component of a lab.
const ComponentVerb = "component"

// component is one server of the lab: a child process that is started again when it ends by itself,
// as a node's kubelet would, and that can be stopped and started by hand.
type component struct {
	name string
	args []string
	env  []string
	bin  string
	log  string // its standard output and error

	mu      sync.Mutex
	wanted  bool
	process *os.Process   // the latest one; nil before the first
	ended   chan struct{} // closed when that process has ended

	restarted func()      // called when it has ended by itself
	failed    func(error) // called when it keeps ending
}

// quickEnds is after how many ends in a row, each within quickEnd of its start, a component is given up.
const (
	quickEnds = 3
	quickEnd  = 10 * time.Second
)

// start returns when the process runs, whether or not it serves already.
func (c *component) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wanted {
		return nil
	}
	if err := c.spawn(); err != nil {
		return err
	}
	c.wanted = true
	go c.keep(c.ended)
	return nil
}

// stop returns when the process has ended: asked by SIGTERM at first, or at once when grace is 0.
func (c *component) stop(grace time.Duration) {
	c.mu.Lock()
	c.wanted = false
	process, ended := c.process, c.ended
	c.mu.Unlock()
	if process == nil {
		return
	}
	if grace > 0 {
		_ = process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			return
		case <-time.After(grace):
		}
	}
	_ = process.Kill()
	<-ended
}

// pid is 0 while the component is stopped.
func (c *component) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	select {
	case <-c.ended:
		return 0
	default:
		return c.process.Pid
	}
}

func (c *component) keep(ended chan struct{}) {
	for quick, started := 0, time.Now(); ; started = time.Now() {
		<-ended
		if time.Since(started) > quickEnd {
			quick = 0
		}
		quick++
		time.Sleep(200 * time.Millisecond)
		c.mu.Lock()
		if !c.wanted || c.ended != ended { // stopped, or stopped and started again
			c.mu.Unlock()
			return
		}
		err := c.spawn()
		ended = c.ended
		c.mu.Unlock()
		if err == nil && quick >= quickEnds {
			err = fmt.Errorf("ended %d times in a row", quick)
		}
		if err != nil {
			c.failed(fmt.Errorf("%s: %w; its log ends with:\n%s", c.name, err, c.tail()))
			return
		}
		c.restarted()
	}
}

// spawn is called with mu held.
func (c *component) spawn() error {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	defer log.Close()
	command := exec.Command(c.bin, append([]string{ComponentVerb, c.name}, c.args...)...)
	command.Env = append(os.Environ(), c.env...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true,            // an interrupt typed at the terminal is the lab's to handle
		Pdeathsig: syscall.SIGKILL, // nothing outlives the lab, however it ends
	}
	ended, started := make(chan struct{}), make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that made the child ends: it must live as long.
		runtime.LockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	c.process, c.ended = command.Process, ended
	return nil
}

// tail is the end of the component's log, for an error message.
func (c *component) tail() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
