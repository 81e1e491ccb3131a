// Package e2e runs the whole of Tephra on a lab: a real control plane with Volcano, tephra-engine
// and tephra-scheduler, each a process of its own that a test can stop, kill and start again.
//
//	cluster, err := e2e.Start(ctx, e2e.Options{Nodes: 4, Racks: 2})
//	defer cluster.Stop()
//	err = cluster.Submit(ctx, e2e.Job("default", "train").Task("worker", 16, e2e.GPUs(1)).Object())
//	err = cluster.JobReaches(ctx, "default", "train", batch.Running)
//
// The scheduler has the rights that manifests/base gives it, and no other rights.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"tephra.sh/lab"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

// Options say what cluster to start; the zero value is four nodes of eight GPUs in two racks.
type Options struct {
	Nodes int
	Racks int
	// Audit makes the API server keep a log of the scheduler's requests, for Beyond.
	Audit bool
	// Lab, if set, changes the lab's options before it starts.
	Lab func(*lab.Options)
	// SchedulerFlags come after the usual ones, so they win.
	SchedulerFlags []string
	// EngineConfig is the text of the engine's YAML file; "" is its defaults.
	EngineConfig string
	// Programs come from the build tree unless the environment names other paths.
	Programs Programs
}

// Cluster is a running lab with one engine and one scheduler, which Start has started.
type Cluster struct {
	Lab     *lab.Lab
	Dir     string // sockets, configuration and logs of what is not the lab's
	Kube    kubernetes.Interface
	Volcano volcano.Interface
	Config  *rest.Config // the administrator's
	Nodes   lab.NodeShape

	Engine    *Engine
	Scheduler *Scheduler

	programs Programs
	options  Options
	account  string // path of the kubeconfig of the scheduler's service account
	more     []*Process
}

// Start returns when the scheduler is ready: it has synced, and has a plan of the engine.
func Start(ctx context.Context, options Options) (c *Cluster, err error) {
	if options.Nodes == 0 {
		options.Nodes, options.Racks = 4, 2
	}
	c = &Cluster{options: options}
	if c.programs, err = options.Programs.Found(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, c.Logs())
			c.Stop()
			c = nil
		}
	}()
	if c.Dir, err = os.MkdirTemp("", "tephra-e2e-"); err != nil {
		return c, err
	}
	if err = c.startLab(ctx); err != nil {
		return c, err
	}
	if c.account, err = c.installAccount(ctx); err != nil {
		return c, err
	}
	if err = WriteKeys(c.keys()); err != nil {
		return c, err
	}
	if c.Engine, err = c.NewEngine("engine", options.EngineConfig); err != nil {
		return c, err
	}
	if err = c.Engine.Start(ctx); err != nil {
		return c, err
	}
	if c.Scheduler, err = c.NewScheduler("scheduler", c.Engine, options.SchedulerFlags...); err != nil {
		return c, err
	}
	if err = c.Scheduler.Start(ctx); err != nil {
		return c, err
	}
	return c, c.Scheduler.IsReady(ctx)
}

// keys is the folder with the keys of slices.
func (c *Cluster) keys() string { return filepath.Join(c.Dir, "keys") }

func (c *Cluster) startLab(ctx context.Context) (err error) {
	wanted := lab.Defaults()
	wanted.Nodes.Count, wanted.Nodes.Racks = c.options.Nodes, max(c.options.Racks, 1)
	wanted.Dir = filepath.Join(c.Dir, "lab")
	wanted.Binary = c.programs.Lab
	if c.options.Lab != nil {
		c.options.Lab(&wanted)
	}
	if c.options.Audit {
		if err := c.audit(&wanted); err != nil {
			return err
		}
	}
	if c.Lab, err = lab.Start(ctx, wanted); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	c.Config, c.Nodes = c.Lab.Config, wanted.Nodes
	if c.Kube, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	c.Volcano, err = volcano.NewForConfig(c.Config)
	return err
}

// keepLogs, in the environment, names a folder to which Stop copies the logs of engines and schedulers.
const keepLogs = "TEPHRA_E2E_LOGS"

// Stop ends everything and removes what was written.
func (c *Cluster) Stop() {
	for i := len(c.more) - 1; i >= 0; i-- {
		c.more[i].Kill()
	}
	if c.Lab != nil {
		c.Lab.Stop()
	}
	if folder := os.Getenv(keepLogs); folder != "" {
		for _, process := range c.more {
			_ = os.MkdirAll(folder, 0o700)
			_ = os.WriteFile(filepath.Join(folder, filepath.Base(process.Log)), []byte(process.Said()), 0o600)
		}
	}
	if c.Dir != "" {
		_ = os.RemoveAll(c.Dir)
	}
}

// Logs are the ends of what the engines and schedulers wrote.
func (c *Cluster) Logs() (text string) {
	for _, process := range c.more {
		text += fmt.Sprintf("--- %s (%s) ends with:\n%s\n", process.Name, process.state(), process.Tail(25))
	}
	return text
}
