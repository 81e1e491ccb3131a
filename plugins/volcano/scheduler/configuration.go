package scheduler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/klog/v2"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/filewatcher"
	volcano "volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/action"
)

// DefaultConf is used where no --scheduler-conf is given. The engine does what Volcano's other
// plugins are for; gang keeps the standard PodGroup conditions, predicates checks what only Go can.
const DefaultConf = `
actions: "tephra"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: predicates
`

// settings is a configuration file as Volcano understands it.
type settings struct {
	actions   []framework.Action
	tiers     []conf.Tier
	arguments []conf.Configuration
	metrics   map[string]string
}

// configuration follows the scheduler's configuration file. A file that is wrong when the process
// starts is an error; one that becomes wrong later leaves what was in force.
type configuration struct {
	path string

	mutex sync.Mutex
	now   settings
}

func loadConfiguration(opt *options.ServerOption) (*configuration, error) {
	c := &configuration{path: opt.SchedulerConf}
	return c, c.reload()
}

func (c *configuration) reload() error {
	text := DefaultConf
	if c.path != "" {
		file, err := os.ReadFile(c.path)
		if err != nil {
			return fmt.Errorf("scheduler configuration: %w", err)
		}
		text = string(file)
	}
	var read settings
	var err error
	read.actions, read.tiers, read.arguments, read.metrics, err = volcano.UnmarshalSchedulerConf(text)
	if err != nil {
		return fmt.Errorf("scheduler configuration %q: %w", c.path, err)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = read
	return nil
}

func (c *configuration) current() settings {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

func (c *configuration) usesEngine() bool {
	for _, a := range c.current().actions {
		if a.Name() == action.Name {
			return true
		}
	}
	return false
}

func (c *configuration) usesStockActions() bool {
	for _, a := range c.current().actions {
		if a.Name() != action.Name {
			return true
		}
	}
	return false
}

// judgeByNode are plugins that give the same answers where a session shows only the nodes and jobs of a plan, and that
// do not act outside the session.
var judgeByNode = []string{"priority", "gang", "conformance", "predicates"}

// narrow: the engine alone decides, and no plugin needs sessions of the whole cluster.
func (s settings) narrow() bool {
	if len(s.actions) != 1 || s.actions[0].Name() != action.Name {
		return false
	}
	for _, tier := range s.tiers {
		for _, plugin := range tier.Plugins {
			if !slices.Contains(judgeByNode, plugin.Name) {
				return false
			}
		}
	}
	return true
}

// watch reloads the file whenever it changes, until the context ends. The folder is watched, since
// a mounted ConfigMap changes by moving a link.
func (c *configuration) watch(ctx context.Context, changed func(metrics map[string]string)) {
	if c.path == "" {
		return
	}
	watcher, err := filewatcher.NewFileWatcher(filepath.Dir(c.path))
	if err != nil {
		klog.ErrorS(err, "Could not watch the folder of the scheduler configuration, so changes need a restart", "path", c.path)
		return
	}
	defer watcher.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-watcher.Errors():
			klog.ErrorS(err, "Could not watch the scheduler configuration", "path", c.path)
		case <-watcher.Events():
			if err := c.reload(); err != nil {
				klog.ErrorS(err, "The scheduler configuration is wrong; the previous configuration stays in force")
				continue
			}
			changed(c.current().metrics)
		}
	}
}
