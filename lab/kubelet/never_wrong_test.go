package kubelet_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tephra.sh/lab/kubelet"
)

const (
	wholeGPUs = 2 // of 8; the others are shared
	allGPUs   = 8
	retry     = 300 * time.Millisecond // the kubelet's first wait after an error
)

// world is a node under many pods, with what the checks need to know.
type world struct {
	t    *testing.T
	node *kubelet.Node

	mutex   sync.Mutex
	random  *rand.Rand
	whole   []int                        // GPUs that the scheduler has free
	running map[string]map[types.UID]int // by GPU: the pods that have all of it, and in how many containers
	seen    map[string]string            // by nonce: whose it is

	created, wrong, retries, restarts, refused, healed atomic.Int64
}

func (w *world) number(n int) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.random.IntN(n)
}

func (w *world) sleep(least, most time.Duration) {
	time.Sleep(least + time.Duration(w.number(int(most-least))))
}

// takeWhole waits until the scheduler has a GPU to give out whole.
func (w *world) takeWhole() int {
	for {
		w.mutex.Lock()
		if n := len(w.whole); n > 0 {
			gpu := w.whole[n-1]
			w.whole = w.whole[:n-1]
			w.mutex.Unlock()
			return gpu
		}
		w.mutex.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

func (w *world) giveWhole(gpu int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.whole = append(w.whole, gpu)
}

// slicesFor is what the scheduler gives pod number i: amounts that no other container has.
func (w *world) slicesFor(i int) (given map[string][]kubelet.Slice, whole int) {
	whole = -1
	memory := 100 + 8*i
	shared := wholeGPUs + i%(allGPUs-wholeGPUs)
	given = map[string][]kubelet.Slice{
		"main":   {kubelet.Fraction(shared, 1+i%7, memory)},
		"logger": {kubelet.Fraction(wholeGPUs+(i+1)%(allGPUs-wholeGPUs), 2, memory+1)},
	}
	if i%2 == 0 {
		given["init"] = []kubelet.Slice{kubelet.Fraction(shared, 3, memory+2)}
	}
	if i%3 == 0 {
		given["sidecar"] = []kubelet.Slice{kubelet.Fraction(shared, 1, memory+3)}
	}
	if i%5 == 0 {
		whole = w.takeWhole()
		given["main"] = append(given["main"], kubelet.Whole(whole))
	}
	return given, whole
}

// begins notes that a container runs now, and finds whether another pod has one of its whole GPUs.
func (w *world) begins(pod *core.Pod, container string, sees *kubelet.Sees, given []kubelet.Slice) {
	w.created.Add(1)
	if differs := sees.Differs(given); differs != "" {
		w.wrong.Add(1)
		w.t.Errorf("pod %s, container %s: %s", pod.Name, container, differs)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	owner := string(pod.UID) + "/" + container
	for _, name := range sees.Names {
		if before, known := w.seen[name]; known && before != owner {
			w.wrong.Add(1)
			w.t.Errorf("%s is of %s and of %s", name, before, owner)
		}
		w.seen[name] = owner
	}
	for _, slice := range given {
		if slice.Mode != "whole" {
			continue
		}
		if w.running[slice.UUID] == nil {
			w.running[slice.UUID] = map[types.UID]int{}
		}
		w.running[slice.UUID][pod.UID]++
		if len(w.running[slice.UUID]) > 1 {
			w.wrong.Add(1)
			w.t.Errorf("%s is whole for %v at a time", slice.UUID, slices.Collect(maps.Keys(w.running[slice.UUID])))
		}
	}
}

func (w *world) ends(pod *core.Pod, given []kubelet.Slice) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, slice := range given {
		if slice.Mode != "whole" {
			continue
		}
		if w.running[slice.UUID][pod.UID]--; w.running[slice.UUID][pod.UID] == 0 {
			delete(w.running[slice.UUID], pod.UID)
		}
	}
}

// create tries until the container is there; what is not healed after a minute is an error.
func (w *world) create(ctx context.Context, pod *core.Pod, container string) *kubelet.Sees {
	for tries := 0; ; tries++ {
		sees, err := w.node.Kubelet.Create(ctx, pod, container)
		if err == nil {
			if tries > 0 {
				w.healed.Add(1)
			}
			return sees
		}
		w.retries.Add(1)
		select {
		case <-ctx.Done():
			w.t.Errorf("pod %s, container %s: %v", pod.Name, container, err)
			return nil
		case <-time.After(retry):
		}
	}
}

// admit is one try, at a time when the node shows its devices.
func (w *world) admit(pod *core.Pod) bool {
	w.node.Admission.RLock()
	defer w.node.Admission.RUnlock()
	if err := w.node.Kubelet.Admit(pod); err != nil {
		w.t.Errorf("pod %s is not admitted: %v", pod.Name, err)
		return false
	}
	return true
}

// live is the life of pod number i.
func (w *world) live(i int) {
	given, whole := w.slicesFor(i)
	plain := kubelet.Pod("pod-"+strconv.Itoa(i), given)
	pod := kubelet.Annotated(plain, kubelet.Annotation(given))
	switch i % 20 {
	case 7: // the annotation never comes
		w.refuse(plain, plain, "no annotation")
		return
	case 13: // it names a GPU that is not here
		w.refuse(plain, kubelet.Annotated(plain, strings.ReplaceAll(kubelet.Annotation(given), "GPU-", "GPX-")), "no GPU")
		return
	case 3, 11: // it comes late
		w.node.API.Put(plain)
		go func() {
			w.sleep(200*time.Millisecond, 3*time.Second)
			w.node.API.Put(pod)
		}()
	default:
		w.node.API.Put(pod)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	up := map[string]bool{}
	if w.admit(pod) {
		w.run(ctx, pod, given, up)
	}
	w.end(i, pod, given, up)
	if whole >= 0 {
		w.giveWhole(whole)
	}
}

// run starts the containers in order, and some of them again.
func (w *world) run(ctx context.Context, pod *core.Pod, given map[string][]kubelet.Slice, up map[string]bool) {
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		name := container.Name
		sees := w.create(ctx, pod, name)
		if sees == nil {
			return
		}
		w.begins(pod, name, sees, given[name])
		if name == "init" {
			w.sleep(0, 100*time.Millisecond)
			w.ends(pod, given[name])
			continue
		}
		up[name] = true
	}
	for range w.number(3) {
		w.sleep(0, time.Second)
		for name := range up {
			w.ends(pod, given[name])
			sees := w.create(ctx, pod, name)
			if sees == nil {
				delete(up, name)
				return
			}
			w.restarts.Add(1)
			w.begins(pod, name, sees, given[name])
			break
		}
	}
}

func (w *world) end(i int, pod *core.Pod, given map[string][]kubelet.Slice, up map[string]bool) {
	stop := func() {
		for name := range up {
			w.ends(pod, given[name])
		}
		w.node.Kubelet.Gone(pod.UID)
	}
	switch i % 3 {
	case 0: // it completes
		stop()
		done := pod.DeepCopy()
		done.Status.Phase = core.PodSucceeded
		w.node.Kubelet.Forget(pod.UID)
		w.node.API.Put(done)
	case 1: // it is deleted, and its containers have time to end
		leaving := pod.DeepCopy()
		leaving.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		w.node.API.Put(leaving)
		w.sleep(0, 200*time.Millisecond)
		stop()
		w.node.Kubelet.Forget(pod.UID)
		w.node.API.Delete(pod.UID)
	case 2: // it is deleted by force: its devices are free at once, its containers run on
		w.node.API.Delete(pod.UID)
		w.node.Kubelet.Forget(pod.UID)
		go func() {
			w.sleep(300*time.Millisecond, 2*time.Second)
			stop()
		}()
	}
}

// refuse is the life of a pod whose containers must not start.
func (w *world) refuse(plain, pod *core.Pod, why string) {
	w.node.API.Put(pod)
	if !w.admit(pod) {
		return
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 4*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		sees, err := w.node.Kubelet.Create(ctx, pod, "main")
		if err == nil {
			w.wrong.Add(1)
			w.t.Errorf("pod %s with %s: its container sees %v", pod.Name, why, sees.UUIDs())
			break
		}
		time.Sleep(retry)
	}
	w.refused.Add(1)
	w.node.API.Delete(plain.UID)
	w.node.Kubelet.Forget(plain.UID)
	w.node.Kubelet.Gone(plain.UID)
}

// trouble restarts the plugin and the kubelet, and cuts the API server's watches, until it is stopped.
func (w *world) trouble(stop <-chan struct{}) (plugin, kubelets, watches int) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(300*time.Millisecond + time.Duration(w.number(int(time.Second)))):
		}
		var err error
		switch w.number(6) {
		case 0, 1:
			plugin++
			err = w.node.RestartPlugin(syscall.SIGKILL, time.Duration(w.number(int(500*time.Millisecond))))
		case 2:
			plugin++
			err = w.node.RestartPlugin(syscall.SIGTERM, 0)
		case 3:
			kubelets++
			err = w.node.RestartKubelet()
		case 4:
			watches++
			w.node.API.Cut(w.number(2) == 0)
		case 5:
			watches++
			err = w.node.API.Rotate("token-" + strconv.Itoa(i))
			w.node.API.Down(true)
			w.sleep(0, 500*time.Millisecond)
			w.node.API.Down(false)
		}
		if err != nil {
			w.t.Error(err)
			return
		}
	}
}

// nothingLeft: all pods are gone, and nothing is held for any.
func (w *world) nothingLeft(dir string) {
	left := func() string {
		status, err := w.node.Plugin.Status()
		if err != nil {
			return err.Error()
		}
		records, _ := filepath.Glob(filepath.Join(dir, "state/records/*"))
		hooks, _ := filepath.Glob(filepath.Join(dir, "state/hook/????????????????????????????????"))
		spec, err := os.ReadFile(filepath.Join(dir, "cdi/tephra.sh-slice.json"))
		if len(status.Holdings)+len(records)+len(hooks) == 0 && os.IsNotExist(err) {
			return ""
		}
		return fmt.Sprintf("%d holdings, %d records, %d folders of the hook library, %d bytes of CDI",
			len(status.Holdings), len(records), len(hooks), len(spec))
	}
	deadline := time.Now().Add(15 * time.Second)
	for left() != "" && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	if what := left(); what != "" {
		w.t.Errorf("leaked: %s", what)
	}
}

// TestNeverTheWrongSlice binds TEPHRA_NODE_PODS pods (40) at once, with TEPHRA_NODE_SEED.
func TestNeverTheWrongSlice(t *testing.T) {
	pods, seed := environment("TEPHRA_NODE_PODS", 40), environment("TEPHRA_NODE_SEED", 1)
	t.Logf("%d pods, TEPHRA_NODE_SEED=%d", pods, seed)
	node := startNode(t, allGPUs, "--mount")
	w := &world{
		t: t, node: node, random: rand.New(rand.NewPCG(uint64(seed), 0)), whole: []int{0, 1},
		running: map[string]map[types.UID]int{}, seen: map[string]string{},
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	var plugin, kubelets, watches int
	go func() {
		defer close(ended)
		plugin, kubelets, watches = w.trouble(stop)
	}()
	var lives sync.WaitGroup
	for i := range pods {
		lives.Go(func() { w.live(i) })
	}
	lives.Wait()
	close(stop)
	<-ended
	time.Sleep(2 * time.Second) // containers that outlive their pods
	w.nothingLeft(node.Plugin.Dir)
	t.Logf("%d pods: %d containers created, %d of them again; %d wrong; %d refused pods; %d healed by %d tries more; "+
		"%d restarts of the plugin, %d of the kubelet, %d cuts of the API server",
		pods, w.created.Load(), w.restarts.Load(), w.wrong.Load(), w.refused.Load(), w.healed.Load(), w.retries.Load(),
		plugin, kubelets, watches)
}

func environment(name string, usual int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return usual
}
