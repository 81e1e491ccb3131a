//go:build realkubelet

package real_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"tephra.sh/lab/kubelet"
	"tephra.sh/lab/kubelet/real"
)

// life is one pod, and what it has to be.
type life struct {
	pod     *core.Pod
	given   map[string][]kubelet.Slice
	refused bool // no container of it may start
	starts  map[string]int
}

type world struct {
	t       *testing.T
	client  kubernetes.Interface
	machine *real.Machine
	plugin  *kubelet.Plugin
	// Held for reading from a binding until the kubelet has admitted the pod: the scheduler binds none to a
	// node that shows no devices.
	admission sync.RWMutex

	mutex  sync.Mutex
	random *rand.Rand
	whole  []int
	lives  map[types.UID]*life
	pods   map[string]*core.Pod // as last listed

	reports, wrong, refused, restarts atomic.Int64
}

func (w *world) number(n int) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.random.IntN(n)
}

// until asks every so often until it holds.
func (w *world) until(what string, holds func() bool) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	w.t.Errorf("not in %v: %s", patience, what)
	return false
}

// list keeps w.pods until the context ends.
func (w *world) list(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(300 * time.Millisecond) {
		found, err := w.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		pods := map[string]*core.Pod{}
		for i := range found.Items {
			pods[found.Items[i].Name] = &found.Items[i]
		}
		w.mutex.Lock()
		w.pods = pods
		w.mutex.Unlock()
	}
}

// get is nil for a pod that is gone.
func (w *world) get(name string) *core.Pod {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.pods[name]
}

func (w *world) failed(name string) bool {
	pod := w.get(name)
	return pod != nil && pod.Status.Phase == core.PodFailed
}

// slicesFor is what the scheduler gives pod number i: amounts that no other container has.
func (w *world) slicesFor(i int) (given map[string][]kubelet.Slice, whole int) {
	memory, shared, whole := 100+8*i, wholeGPUs+i%(allGPUs-wholeGPUs), -1
	given = map[string][]kubelet.Slice{
		"init":   {kubelet.Fraction(shared, 3, memory+2)},
		"main":   {kubelet.Fraction(shared, 1+i%7, memory)},
		"logger": {kubelet.Fraction(wholeGPUs+(i+1)%(allGPUs-wholeGPUs), 2, memory+1)},
	}
	if i%3 == 0 {
		given["sidecar"] = []kubelet.Slice{kubelet.Fraction(shared, 1, memory+3)}
	}
	if i%5 == 0 {
		w.until("a GPU is free for a pod that gets it whole", func() bool {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			if n := len(w.whole); n > 0 {
				whole, w.whole = w.whole[n-1], w.whole[:n-1]
			}
			return whole >= 0
		})
		given["main"] = append(given["main"], kubelet.Whole(whole))
	}
	return given, whole
}

// podFor is what the user submits; ends: the containers end by themselves, lingers: they take long to.
func podFor(name string, given map[string][]kubelet.Slice, restarts int, ends bool, lingers time.Duration) *core.Pod {
	pod := kubelet.Pod(name, given)
	pod.UID, pod.Spec.NodeName = "", ""
	pod.Spec.HostNetwork = true // no CNI
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](10)
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	pod.Spec.EnableServiceLinks = ptr.To(false)
	if ends {
		pod.Spec.RestartPolicy = core.RestartPolicyOnFailure
	}
	pod.Spec.Volumes = []core.Volume{{Name: "report", VolumeSource: core.VolumeSource{
		HostPath: &core.HostPathVolumeSource{Path: filepath.Join(dir, "reports")}}}}
	for _, containers := range [][]core.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Image, c.ImagePullPolicy, c.Args = real.Image, core.PullNever, []string{"report"}
			c.Resources.Requests = c.Resources.Limits
			c.VolumeMounts = []core.VolumeMount{{Name: "report", MountPath: "/report"}}
			c.Env = []core.EnvVar{
				{Name: "POD_UID", ValueFrom: &core.EnvVarSource{FieldRef: &core.ObjectFieldSelector{FieldPath: "metadata.uid"}}},
				{Name: "CONTAINER", Value: c.Name},
				{Name: "LINGERS", Value: lingers.String()},
			}
			if c.Name != "init" {
				c.Env = append(c.Env, core.EnvVar{Name: "RESTARTS", Value: strconv.Itoa(restarts)})
			}
			if stays := c.Name != "init" && (!ends || c.Name == "sidecar"); stays {
				c.Env = append(c.Env, core.EnvVar{Name: "STAYS", Value: "true"})
			}
		}
	}
	return pod
}

// bind returns when the kubelet has seen the pod and said so.
func (w *world) bind(pod *core.Pod, annotations map[string]string) {
	w.admission.RLock()
	defer w.admission.RUnlock()
	pods := w.client.CoreV1().Pods("default")
	err := pods.Bind(context.Background(), &core.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Annotations: annotations},
		Target:     core.ObjectReference{Kind: "Node", Name: kubelet.NodeName},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Error(err)
		return
	}
	w.until("pod "+pod.Name+" is admitted", func() bool {
		found := w.get(pod.Name)
		return found != nil && found.Status.StartTime != nil
	})
}

func logs(t *testing.T) {
	for _, name := range []string{"kubelet.log", "containerd.log", "kubelet/plugin.log"} {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		lines := strings.Split(string(text), "\n")
		t.Logf("the end of %s:\n%s", name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

func environment(name string, usual int) int {
	if value, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return value
	}
	return usual
}
