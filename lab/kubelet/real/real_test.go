//go:build realkubelet

package real_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/utils/ptr"
	"tephra.sh/lab"
	"tephra.sh/lab/components"
	"tephra.sh/lab/kubelet"
	"tephra.sh/lab/kubelet/real"
)

const (
	wholeGPUs = 2 // of 8; the others are shared
	allGPUs   = 8
	patience  = time.Hour // for what has to happen, on a slow machine
)

var dir string // of this run

func TestMain(m *testing.M) {
	components.RunIfAsked()
	if len(os.Args) > 1 && os.Args[1] == "kubelet" {
		os.Args = os.Args[1:]
		os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
	}
	var err error
	if dir, err = real.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func (w *world) live(i int) {
	given, whole := w.slicesFor(i)
	restarts, ends, lingers := i%3, i%3 == 0, time.Duration(i%4)*time.Second
	pods := w.client.CoreV1().Pods("default")
	pod, err := pods.Create(context.Background(), podFor("pod-"+strconv.Itoa(i), given, restarts, ends, lingers), metav1.CreateOptions{})
	if err != nil {
		w.t.Error(err)
		return
	}
	text := kubelet.Annotation(given)
	never, foreign, late := i%20 == 7, i%20 == 13, i%20 == 3 || i%20 == 11
	if foreign {
		text = strings.ReplaceAll(text, "GPU-", "GPX-")
	}
	w.mutex.Lock()
	w.lives[pod.UID] = &life{pod: pod, given: given, refused: never || foreign, starts: map[string]int{}}
	w.mutex.Unlock()
	annotations := map[string]string{kubelet.SlicesKey: text}
	if never || late {
		annotations = nil
	}
	w.bind(pod, annotations)
	switch {
	case never || foreign:
		time.Sleep(30 * time.Second)
		w.refused.Add(1)
	case late:
		time.Sleep(time.Duration(1+w.number(20)) * time.Second)
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, kubelet.SlicesKey, text)
		if _, err := pods.Patch(context.Background(), pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			w.t.Error(err)
		}
		fallthrough
	default:
		w.until(fmt.Sprintf("containers of pod %s have all started, those after init %d times", pod.Name, 1+restarts),
			func() bool { return w.started(pod, given, restarts) || w.failed(pod.Name) })
		w.restarts.Add(int64(restarts * (len(given) - 1)))
	}
	w.end(i, pod, ends && !never && !foreign)
	if whole >= 0 {
		w.mutex.Lock()
		w.whole = append(w.whole, whole)
		w.mutex.Unlock()
	}
}

func (w *world) started(pod *core.Pod, given map[string][]kubelet.Slice, restarts int) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for name := range given {
		least := 1 + restarts
		if name == "init" {
			least = 1
		}
		if w.lives[pod.UID].starts[name] < least {
			return false
		}
	}
	return true
}

// end returns when the scheduler takes the pod's GPUs for free.
func (w *world) end(i int, pod *core.Pod, completes bool) {
	var options metav1.DeleteOptions
	switch {
	case completes:
		w.until("pod "+pod.Name+" completes", func() bool {
			found := w.get(pod.Name)
			return found != nil && (found.Status.Phase == core.PodSucceeded || found.Status.Phase == core.PodFailed)
		})
		return // it stays, for the count of failures
	case i%3 == 2: // by force: it is gone at once, its containers are not
		options.GracePeriodSeconds = ptr.To[int64](0)
	}
	if w.failed(pod.Name) {
		return // this too
	}
	if err := w.client.CoreV1().Pods("default").Delete(context.Background(), pod.Name, options); err != nil {
		w.t.Error(err)
	}
	w.until("pod "+pod.Name+" is gone", func() bool { return w.get(pod.Name) == nil })
}

// read judges what containers have written since.
func (w *world) read(seen map[string]bool) {
	found, err := real.Reports(dir, seen)
	if err != nil {
		w.t.Error(err)
	}
	for _, report := range found {
		w.reports.Add(1)
		w.mutex.Lock()
		one := w.lives[types.UID(report.UID)]
		if one != nil {
			one.starts[report.Container]++
		}
		w.mutex.Unlock()
		differs := "unknown pod"
		if one != nil {
			differs = report.Differs(dir, one.given[report.Container])
			if one.refused {
				differs = "was to be refused"
			}
		}
		if differs != "" {
			w.wrong.Add(1)
			w.t.Errorf("pod %s, container %s: %s", report.UID, report.Container, differs)
		}
	}
}

// trouble restarts the plugin and the kubelet until it is stopped.
func (w *world) trouble(stop <-chan struct{}) (plugins, kubelets int) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(4000+w.number(8000)) * time.Millisecond):
		}
		w.admission.Lock()
		kind := w.number(4)
		signal := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[w.number(2)]
		var err error
		if kind == 0 {
			kubelets++
			w.machine.StopKubelet(signal)
			time.Sleep(time.Duration(w.number(1000)) * time.Millisecond)
			err = w.machine.StartKubelet()
			w.admitsAgain(kubelets)
		} else {
			plugins++
			if err = w.plugin.End(signal); err == nil {
				time.Sleep(time.Duration(w.number(2000)) * time.Millisecond)
				err = w.plugin.Start()
			}
		}
		if err != nil {
			w.t.Error(err)
		}
		w.ready()
		w.admission.Unlock()
	}
}

// admitsAgain waits until a kubelet that has begun has admitted its pods: it takes a new one after those. Without
// the plugin it would fail them, as no scheduler and no plugin can help.
func (w *world) admitsAgain(number int) {
	w.ready()
	name := "probe-" + strconv.Itoa(number)
	probe := podFor(name, nil, 0, false, 0)
	probe.Spec.NodeName = kubelet.NodeName
	probe.Spec.Containers = []core.Container{{Name: "waits", Image: real.Image, ImagePullPolicy: core.PullNever}}
	pods := w.client.CoreV1().Pods("default")
	if _, err := pods.Create(context.Background(), probe, metav1.CreateOptions{}); err != nil {
		w.t.Error(err)
		return
	}
	w.until("the kubelet admits a pod", func() bool {
		found := w.get(name)
		return found != nil && found.Status.StartTime != nil
	})
	if err := pods.Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		w.t.Error(err)
	}
}

// ready waits until the plugin is registered and the node shows its slots.
func (w *world) ready() {
	w.until("the node shows its slots", func() bool {
		status, err := w.plugin.Status()
		if err != nil || !status.Registered {
			return false
		}
		node, err := w.client.CoreV1().Nodes().Get(context.Background(), kubelet.NodeName, metav1.GetOptions{})
		if err != nil {
			return false
		}
		slots := node.Status.Allocatable[kubelet.Resource]
		return slots.Value() == allGPUs*100
	})
}

func (w *world) allFailed() (pods []string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for name, pod := range w.pods {
		if pod.Status.Phase == core.PodFailed {
			pods = append(pods, name+": "+pod.Status.Reason+": "+pod.Status.Message)
		}
	}
	return pods
}

func (w *world) leaked() string {
	status, err := w.plugin.Status()
	if err != nil {
		return err.Error()
	}
	records, _ := filepath.Glob(filepath.Join(real.Root, "state/records/*"))
	spec, err := os.ReadFile(filepath.Join(real.Root, "cdi/tephra.sh-slice.json"))
	if len(status.Holdings)+len(records) == 0 && os.IsNotExist(err) {
		return ""
	}
	return fmt.Sprintf("%d holdings, %d records, %d bytes of CDI", len(status.Holdings), len(records), len(spec))
}

// begin starts all that there is on the node, and around it.
func begin(t *testing.T) *world {
	options := lab.Defaults()
	options.Nodes.Count, options.Nodes.Racks, options.Admission, options.ServiceAccountTokens = 0, 1, false, false
	options.Dir = filepath.Join(dir, "lab")
	running, err := lab.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
	client, err := kubernetes.NewForConfig(running.Config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	containerd := os.Getenv("TEPHRA_CONTAINERD")
	if containerd == "" {
		containerd = "../../../build/lab/containerd"
	}
	if containerd, err = filepath.Abs(containerd); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, client: client, lives: map[types.UID]*life{}, whole: []int{0, 1}}
	w.machine, err = real.Start(t.Context(), dir, running.Kubeconfig, real.Programs{Containerd: containerd, Kubelet: []string{self, "kubelet"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.machine.Stop)
	t.Log(w.machine.Versions(t.Context()))
	for gpu := range wholeGPUs {
		if err := os.WriteFile(filepath.Join(dir, "reports", "whole."+kubelet.UUID(gpu)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.machine.StartKubelet(); err != nil {
		t.Fatal(err)
	}
	if err := kubelet.Account(t.Context(), client, filepath.Join(real.Root, "token")); err != nil {
		t.Fatal(err)
	}
	binary, err := kubelet.FindPlugin()
	if err != nil {
		t.Fatal(err)
	}
	api := &kubelet.API{URL: running.Config.Host, CA: filepath.Join(running.Dir, "pki", "ca.crt"), Token: filepath.Join(real.Root, "token")}
	w.plugin = &kubelet.Plugin{Binary: binary, Dir: real.Root, API: api, GPUs: allGPUs, Flags: []string{"--mount"}}
	if err := w.plugin.Prepare(); err != nil {
		t.Fatal(err)
	}
	devices(t)
	if err := os.Symlink("/sys/fs/cgroup", filepath.Join(real.Root, "cgroup")); err != nil {
		t.Fatal(err)
	}
	w.until("the kubelet makes the node", func() bool {
		_, err := client.CoreV1().Nodes().Get(t.Context(), kubelet.NodeName, metav1.GetOptions{})
		return err == nil
	})
	if err := w.plugin.Start(); err != nil {
		t.Fatal(err)
	}
	w.ready()
	return w
}

// devices makes the GPUs' device nodes, of the numbers that NVIDIA's driver has.
func devices(t *testing.T) {
	nodes, err := filepath.Glob(filepath.Join(real.Root, "root/dev/nvidia*"))
	if err != nil || len(nodes) == 0 {
		t.Fatalf("no device nodes: %v", err)
	}
	for minor, node := range nodes {
		if err := os.Remove(node); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mknod(node, syscall.S_IFCHR|0o666, 195<<8|minor); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNeverTheWrongSliceOnARealKubelet binds TEPHRA_NODE_PODS pods (40) at once, with TEPHRA_NODE_SEED.
func TestNeverTheWrongSliceOnARealKubelet(t *testing.T) {
	pods, seed := environment("TEPHRA_NODE_PODS", 40), environment("TEPHRA_NODE_SEED", 1)
	t.Cleanup(func() {
		if t.Failed() {
			logs(t)
		}
	})
	w := begin(t)
	w.random = rand.New(rand.NewPCG(uint64(seed), 0))
	go w.list(t.Context())
	began := time.Now()
	stop, ended := make(chan struct{}), make(chan struct{})
	var plugins, kubelets int
	go func() {
		defer close(ended)
		plugins, kubelets = w.trouble(stop)
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		for seen := map[string]bool{}; ; time.Sleep(200 * time.Millisecond) {
			over := false
			select {
			case <-ended:
				over = true
			default:
			}
			w.read(seen)
			if over {
				return
			}
		}
	}()
	var lives sync.WaitGroup
	for i := range pods {
		lives.Go(func() { w.live(i) })
	}
	lives.Wait()
	close(stop)
	<-ended
	<-read
	failed := w.allFailed()
	for _, pod := range failed {
		t.Errorf("failed: %s", pod)
	}
	leaked := ""
	w.until("nothing is held for pods that are gone", func() bool { leaked = w.leaked(); return leaked == "" })
	t.Logf("%d pods (TEPHRA_NODE_SEED=%d): %d containers started, %d of them again; %d wrong; %d refused pods; %d failed pods; leaked: %q; "+
		"%d restarts of the plugin, %d of the kubelet; %.0f s",
		pods, seed, w.reports.Load(), w.restarts.Load(), w.wrong.Load(), w.refused.Load(), len(failed), leaked, plugins, kubelets, time.Since(began).Seconds())
}
