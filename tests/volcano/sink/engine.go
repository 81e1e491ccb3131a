package sink

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// EngineVariable names the environment variable with the path of the engine's binary.
const EngineVariable = "TEPHRA_ENGINE"

const defaultEngine = "../../build/release/sidecar/tephra-engine" // from the module's folder

// startWithin bounds the wait for the engine's socket.
const startWithin = 10 * time.Second

// Engine is a running tephra-engine.
type Engine struct {
	Socket string

	process *exec.Cmd
	folder  string
}

// EnginePath is the binary that StartEngine runs, or why there is none.
func EnginePath() (string, error) {
	path := os.Getenv(EngineVariable)
	if path == "" {
		path = defaultEngine
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("engine: %w; build the release preset, or set %s", err, EngineVariable)
	}
	return path, nil
}

// StartEngine runs an engine of its own, with a socket in a temporary folder. What it logs goes to
// the file; nil: nowhere.
func StartEngine(log *os.File, arguments ...string) (*Engine, error) {
	path, err := EnginePath()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "tephra-sink-")
	if err != nil {
		return nil, err
	}
	e := &Engine{Socket: filepath.Join(folder, "engine.sock"), folder: folder}
	e.process = exec.Command(path, append([]string{"--socket", e.Socket}, arguments...)...)
	e.process.Stdout, e.process.Stderr = log, log
	if log == nil {
		e.process.Stdout, e.process.Stderr = nil, nil
	}
	if err := e.process.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if conn, err := net.Dial("unix", e.Socket); err == nil {
			return e, conn.Close()
		}
	}
	e.Stop()
	return nil, fmt.Errorf("engine %s: no socket within %s", path, startWithin)
}

// Pid is the engine's process.
func (e *Engine) Pid() int { return e.process.Process.Pid }

// Stop ends the engine and removes its socket.
func (e *Engine) Stop() {
	_ = e.process.Process.Kill()
	_ = e.process.Wait()
	_ = os.RemoveAll(e.folder)
}
