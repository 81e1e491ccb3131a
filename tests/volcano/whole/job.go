package whole

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"tephra.sh/tests/volcano/sink"
)

const namespace = "team"

// limited is the queue with a limit, in GPUs.
const (
	limited   = "limited"
	limitGPUs = 6
)

// job is a gang, with the controller that makes its pod group and its pods, and makes them again.
type job struct {
	world     *World
	name      string
	queue     string
	pods, min int
	gpus      int // each pod
	half      bool
	at        time.Duration
	runFor    time.Duration
	submitted bool
	done      bool
	doneAt    time.Duration
	succeeded map[int]bool
	syncs     int
}

// jobsOf are the jobs of the run of that seed.
func jobsOf(w *World) (out []*job) {
	random := rand.New(rand.NewPCG(w.Seed, 2))
	for i := range 6 + random.IntN(8) {
		j := &job{world: w, name: fmt.Sprintf("job-%02d", i), queue: []string{limited, "open"}[random.IntN(2)],
			pods: 1 + random.IntN(4), gpus: []int{1, 1, 2, 4}[random.IntN(4)], half: random.IntN(5) == 0,
			at: time.Duration(random.Int64N(int64(50 * time.Second))), runFor: time.Second + time.Duration(random.Int64N(int64(9*time.Second))),
			succeeded: map[int]bool{}}
		if random.IntN(4) == 0 {
			j.runFor *= 5 // long enough that another queue takes its share back
		}
		for j.queue == limited && j.pods*j.gpus > limitGPUs || j.pods*j.gpus > nodeCount*gpusPerNode {
			j.pods--
		}
		if j.min = j.pods; random.IntN(4) == 0 || j.queue == limited && random.IntN(2) == 0 {
			j.min = (j.pods + 1) / 2
		}
		out = append(out, j)
	}
	return out
}

func (j *job) group() string        { return keyOf("podgroups", namespace, j.name) }
func (j *job) podName(i int) string { return fmt.Sprintf("%s-%d", j.name, i) }
func (j *job) podKey(i int) string  { return keyOf("pods", namespace, j.podName(i)) }
func (j *job) pod(i int) *core.Pod  { pod, _ := j.world.api.get(j.podKey(i)).(*core.Pod); return pod }
func (w *World) jobOf(key string) *job {
	name := key[strings.LastIndex(key, "/")+1:]
	for _, j := range w.jobs {
		if name == j.name || strings.HasPrefix(name, j.name+"-") {
			return j
		}
	}
	return nil
}

// runFor is how long the pod runs.
func (w *World) runFor(pod *core.Pod) time.Duration {
	j := w.jobOf("pods/" + pod.Name)
	return j.runFor + w.between("run "+pod.Name, 0, 2*time.Second)
}

// request is what each pod asks for.
func (j *job) request() core.ResourceList {
	if j.half {
		out := sink.GPUs(1)
		delete(out, "nvidia.com/gpu")
		out["volcano.sh/vgpu-number"] = resource.MustParse("1")
		out["volcano.sh/vgpu-cores"] = resource.MustParse("50")
		out["volcano.sh/vgpu-memory"] = resource.MustParse("30000")
		return out
	}
	return sink.GPUs(j.gpus)
}

// perMille is what all pods ask of devices, or one.
func (j *job) perMille() int {
	if j.half {
		return 500
	}
	return j.gpus * 1000
}

// tick looks at the job from time to time, and whenever something of it has changed.
func (j *job) tick() {
	j.sync()
	j.world.after(j.world.between("tick "+j.name, 2*time.Second, 3*time.Second), j.tick)
}

// sync does what Volcano's controllers do.
func (j *job) sync() {
	w := j.world
	if j.done {
		return
	}
	found, _ := w.api.get(j.group()).(*scheduling.PodGroup)
	if found == nil {
		group, _ := sink.Gang(j.name, j.queue, j.min, nil)
		group.Namespace = namespace
		group.Status = scheduling.PodGroupStatus{Phase: scheduling.PodGroupPending}
		request := core.ResourceList{}
		for name, each := range j.request() {
			each.Mul(int64(j.min))
			request[name] = each
		}
		group.Spec.MinResources = &request
		_, _ = w.api.create("podgroups", group)
		j.submitted = true
		return
	}
	for i := range j.pods {
		pod := j.pod(i)
		switch {
		case pod == nil && !j.succeeded[i]:
			if found.Status.Phase != scheduling.PodGroupPending {
				j.create(i)
			}
		case pod == nil:
		case pod.Status.Phase == core.PodFailed && w.Mutant == "no-restart":
		case pod.Status.Phase == core.PodFailed:
			_, _ = w.api.remove("pods", j.podKey(i), metav1.DeleteOptions{})
		case pod.Status.Phase == core.PodSucceeded:
			j.succeeded[i] = true
		}
	}
	if len(j.succeeded) == j.pods {
		j.done, j.doneAt = true, w.now()
		w.note("%s is done", j.name)
		if w.Mutant == "restless" {
			w.relabel(j.queue)
		}
		for i := range j.pods {
			_, _ = w.api.remove("pods", j.podKey(i), metav1.DeleteOptions{})
		}
		_, _ = w.api.remove("podgroups", j.group(), metav1.DeleteOptions{})
	}
}

func (j *job) create(i int) {
	_, pods := sink.Gang(j.name, j.queue, 1, j.request())
	pod := pods[0]
	pod.Namespace, pod.Name = namespace, j.podName(i)
	_, _ = j.world.api.create("pods", pod)
}

// react lets the models learn of a change, a moment later.
func (w *World) react(c change) {
	switch c.resource {
	case "pods":
		for _, k := range w.nodes {
			k.look(c.key)
		}
		fallthrough
	case "podgroups":
		if j := w.jobOf(c.key); j != nil {
			w.after(w.between("sync "+j.name, 5*time.Millisecond, 200*time.Millisecond), j.sync)
		}
	}
}

// writeGroups lets another program write the pod groups for as long as the fault lasts.
func (w *World) writeGroups(f Fault) {
	if w.now() >= f.At+f.For {
		return
	}
	for _, found := range w.api.list("podgroups") {
		o := accessor(found.object)
		if w.chance("other writer "+o.GetName(), 200) {
			w.api.edit(keyOf("podgroups", o.GetNamespace(), o.GetName()), func(object runtime.Object) {
				accessor(object).SetLabels(map[string]string{"seen": fmt.Sprint(w.random("label"))})
			})
		}
	}
	w.after(w.between("other writer", 50*time.Millisecond, 400*time.Millisecond), func() { w.writeGroups(f) })
}

// restore brings the API server back to what it was so long ago. Jobs that were done since are done again.
func (w *World) restore(ago time.Duration) {
	since := w.now() - ago
	revision := uint64(0)
	for _, c := range w.api.history {
		if c.at <= since {
			revision = c.revision
		}
	}
	if revision == 0 {
		return // the history does not go back so far
	}
	w.api.restore(revision)
	w.laws.restored()
	for _, j := range w.jobs {
		if j.done && j.doneAt > since {
			j.done = false
		}
		if !j.done {
			clear(j.succeeded)
		}
	}
	for _, k := range w.nodes {
		for _, c := range sortedBy(k.containers, func(c *container) string { return c.key }) {
			k.look(c.key)
		}
		k.tell(false)
	}
}

// relabel writes the queue again and again.
func (w *World) relabel(queue string) {
	w.api.edit(keyOf("queues", "", queue), func(object runtime.Object) {
		accessor(object).SetLabels(map[string]string{"seen": fmt.Sprint(w.random("relabel"))})
	})
	w.after(w.between("relabel "+queue, time.Second, 2*time.Second), func() { w.relabel(queue) })
}
