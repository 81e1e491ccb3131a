package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// Engine is one tephra-engine.
type Engine struct {
	*Process
	Socket     string
	ConfigFile string

	tephra string
}

// NewEngine prepares an engine with that configuration; it does not run yet.
func (c *Cluster) NewEngine(name, config string) (*Engine, error) {
	e := &Engine{
		Socket:     filepath.Join(c.Dir, name+".sock"),
		ConfigFile: filepath.Join(c.Dir, name+".yaml"),
		tephra:     c.programs.Tephra,
	}
	e.Process = c.NewProcess(name, c.programs.Engine, "--config", e.ConfigFile, "--socket", e.Socket)
	return e, e.Configure(config)
}

// Configure writes the engine's file, which a running engine reads again; "" is all defaults.
func (e *Engine) Configure(text string) error {
	return os.WriteFile(e.ConfigFile, []byte(cmp.Or(text, "{}\n")), 0o600)
}

// Start returns when the engine serves.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.Launch(); err != nil {
		return err
	}
	return Until(ctx, func(ctx context.Context) error {
		if !e.Alive() {
			return Final(fmt.Errorf("%s: %s:\n%s", e.Name, e.state(), e.Tail(10)))
		}
		connection, err := new(net.Dialer).DialContext(ctx, "unix", e.Socket)
		if err == nil {
			connection.Close()
		}
		return err
	})
}

// Restart kills the engine and starts it again, knowing nothing.
func (e *Engine) Restart(ctx context.Context) error {
	e.Kill()
	return e.Start(ctx)
}

// Tephra runs the command line against this engine: Tephra(ctx, "explain", "job/train").
func (e *Engine) Tephra(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, e.tephra, arguments...)
	command.Env = append(os.Environ(), "TEPHRA_SOCKET="+e.Socket)
	text, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("tephra %v: %w: %s", arguments, err, text)
	}
	return string(text), err
}
