// Package lab starts a Kubernetes control plane with Volcano and fake GPU nodes on one machine:
// etcd, kube-apiserver, the controllers that the path of a job needs, Volcano's controllers and
// admission, and played kubelets. Everything listens on loopback at free ports; when the lab stops,
// or its process dies, nothing of it is left.
//
//	l, err := lab.Start(ctx, lab.Defaults())
//	defer l.Stop()
//	client, err := kubernetes.NewForConfig(l.Config)
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Lab is a running control plane. Its methods may be called from several goroutines.
type Lab struct {
	Dir        string // data, certificates, logs
	Kubeconfig string // the administrator's
	Config     *rest.Config

	options    Options
	ports      ports
	files      files
	components []*component // in the order in which they were started
	control    *http.Server
	failure    chan error // room for one
	stopOnce   sync.Once
}

type ports struct{ etcd, etcdPeer, apiServer, admission int }

// Start returns when Jobs can be submitted: every server serves and all nodes and queues are there.
// The context bounds the start alone; what was started lives until Stop.
func Start(ctx context.Context, options Options) (*Lab, error) {
	if err := options.Nodes.validate(); err != nil {
		return nil, err
	}
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	l := &Lab{options: options, failure: make(chan error, 1)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	starting := make(chan struct{})
	go func() { // a component that cannot run ends the start with its own words
		select {
		case err := <-l.failure:
			cancel(err)
		case <-starting:
		}
	}()
	err := l.start(ctx)
	close(starting)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (while: %w)", cause, err)
		}
		l.Stop()
		return nil, err
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context) error {
	if err := l.findBinary(); err != nil {
		return err
	}
	if err := l.makeFolder(); err != nil {
		return err
	}
	found, err := freePorts(4)
	if err != nil {
		return err
	}
	l.ports = ports{found[0], found[1], found[2], found[3]}
	if err := writePKI(l.path("pki"), l.url(), l.Kubeconfig); err != nil {
		return fmt.Errorf("certificates: %w", err)
	}
	if err := l.copyKubeconfig(); err != nil {
		return err
	}
	if l.Config, err = clientcmd.BuildConfigFromFlags("", l.Kubeconfig); err != nil {
		return err
	}
	l.Config.QPS, l.Config.Burst = 2000, 2000
	if err := l.serveControl(); err != nil {
		return err
	}
	if err := l.startControlPlane(ctx); err != nil {
		return err
	}
	if err := l.populate(ctx); err != nil {
		return err
	}
	return nil
}

// startControlPlane starts the servers in the order in which they need each other.
func (l *Lab) startControlPlane(ctx context.Context) error {
	l.say("starting etcd and kube-apiserver")
	if err := l.run("etcd", l.etcdFlags()); err != nil {
		return err
	}
	if err := listening(ctx, l.ports.etcd); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if err := l.run("kube-apiserver", l.apiServerFlags()); err != nil {
		return err
	}
	if err := l.apiReady(ctx); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	l.say("creating Volcano's resource definitions")
	if err := createDefinitions(ctx, l.Config); err != nil {
		return err
	}
	l.say("starting controllers and played kubelets")
	if l.options.Admission {
		if err := l.run("volcano-admission", l.admissionFlags()); err != nil {
			return err
		}
	}
	for _, one := range []struct {
		name   string
		flags  []string
		wanted bool
	}{
		{"volcano-controllers", l.volcanoControllerFlags(), true},
		{"kube-controller-manager", l.controllerManagerFlags(), true}, // its collector looks for resource kinds once at its start
		{"nodes", []string{"--kubeconfig=" + l.Kubeconfig}, true},
		{"volcano-scheduler", l.stockSchedulerFlags(), l.options.StockScheduler},
		{"kube-scheduler", l.kubeSchedulerFlags(), l.options.KubeScheduler},
	} {
		if !one.wanted {
			continue
		}
		if err := l.run(one.name, one.flags); err != nil {
			return err
		}
	}
	return nil
}

// Failed receives the error of a component that cannot be kept running.
func (l *Lab) Failed() <-chan error { return l.failure }

// StopComponent stops one component, as if its machine were gone, until StartComponent.
func (l *Lab) StopComponent(name string) error {
	c, err := l.component(name)
	if err != nil {
		return err
	}
	c.stop(0)
	l.say(name + " stopped")
	return nil
}

// WatchesReturn is the time within which all watches are back once a stopped API server is ready again.
// client-go's reflector waits before each try, in the end for 30 s and as much again by chance
// (NewReflectorWithOptions). The wait that the API server's return falls into may be as long; the try
// after it finds that the API server has forgotten the version ("too old resource version"), and the
// next one, which lists again, comes after one more such wait.
const WatchesReturn = 2 * time.Minute

// StartComponent starts a stopped component again: same port, same data. It returns when the
// component runs; when the component is the API server, when it is ready, which is before the other
// components hear from it again: see WatchesReturn.
func (l *Lab) StartComponent(ctx context.Context, name string) error {
	c, err := l.component(name)
	if err != nil {
		return err
	}
	if err := c.start(); err != nil {
		return err
	}
	l.say(name + " started")
	if name == "kube-apiserver" {
		return l.apiReady(ctx)
	}
	return nil
}

// Components are the names of what the lab consists of, each with its process id; 0 when stopped.
func (l *Lab) Components() map[string]int {
	pids := map[string]int{}
	for _, c := range l.components {
		pids[c.name] = c.pid()
	}
	return pids
}

// Stop ends everything and removes what was written, unless it is to be kept. It may be called twice.
func (l *Lab) Stop() {
	l.stopOnce.Do(func() {
		if l.control != nil {
			_ = l.control.Close()
		}
		grace := time.Duration(0)
		if l.options.Keep {
			grace = 5 * time.Second // so that what is kept is whole
		}
		for _, c := range slices.Backward(l.components) {
			c.stop(grace)
		}
		l.removeFiles()
	})
}

func (l *Lab) run(name string, flags []string) error {
	c := &component{
		name: name, args: flags, bin: l.options.Binary, log: l.path("logs", name+".log"),
		env:       []string{"DEBUG_SOCKET_DIR=" + l.Dir}, // where Volcano's scheduler puts a socket
		restarted: func() { l.say(name + " ended by itself; started again") },
		failed: func(err error) {
			select {
			case l.failure <- err:
			default:
			}
		},
	}
	if err := c.start(); err != nil {
		return err
	}
	l.components = append(l.components, c)
	return nil
}

func (l *Lab) component(name string) (*component, error) {
	for _, c := range l.components {
		if c.name == name {
			return c, nil
		}
	}
	names := slices.Sorted(maps.Keys(l.Components()))
	return nil, fmt.Errorf("component %q: not part of this lab, expected one of %s", name, strings.Join(names, ", "))
}

func (l *Lab) findBinary() (err error) {
	if l.options.Binary == "" {
		l.options.Binary, err = os.Executable()
	}
	return err
}

func (l *Lab) say(what string) { fmt.Fprintln(l.options.Progress, "lab:", what) }
