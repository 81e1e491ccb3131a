package whole

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// What the laws allow at most.
const (
	// A gang below its minimum is evicted after incompleteTimeout (of the engine's configuration); its leader may have
	// been lost just then, and the last pods take their time to end.
	mostHalf = 60 * time.Second
	// Faults are over, and all jobs run one after the other.
	mostSettling = 180 * time.Second
	// Nothing is written for so long at the end.
	quietFor = 5 * time.Second
)

// laws are what has to hold in every run. REQUIRES of its methods: the world's lock is held.
type laws struct {
	world     *World
	halfSince map[string]time.Duration // by job
	lastWrite time.Duration            // of pods, pod groups, queues and nodes
	leader    *client                  // that wrote the lease last
	terms     int
	binds     int
	evictions int
}

func newLaws(w *World) *laws { return &laws{world: w, halfSince: map[string]time.Duration{}} }

// observe checks what can be seen at the API server after each change.
func (l *laws) observe(c change) {
	switch c.resource {
	case "pods":
		if pod := c.after.object.(*core.Pod); pod.DeletionTimestamp != nil && c.event == watch.Modified && c.before.object.(*core.Pod).DeletionTimestamp == nil {
			l.evictions++
		}
		l.devices(c.key)
		l.quota()
		if j := l.world.jobOf(c.key); j != nil {
			l.gang(j)
		}
		fallthrough
	case "podgroups", "queues", "nodes":
		l.lastWrite = l.world.now()
	}
}

func holds(pod *core.Pod) bool { return pod != nil && pod.Spec.NodeName != "" && !ended(pod) }

// devices: no device is given twice. Both pods count until the API server says that one has ended or is gone.
func (l *laws) devices(key string) {
	pod, _ := l.world.api.get(key).(*core.Pod)
	if !holds(pod) {
		return
	}
	mine, err := devicesOf(pod)
	if err != nil {
		l.world.breaks("no device twice", "%s on %s: %v", pod.Name, pod.Spec.NodeName, err)
		return
	}
	if j := l.world.jobOf(key); j != nil {
		var sum int32
		for _, share := range mine {
			sum += share
		}
		if int(sum) != j.perMille() {
			l.world.breaks("no device twice", "%s: got %d per mille of devices, asked for %d", pod.Name, sum, j.perMille())
		}
	}
	used := map[int]int32{}
	var with []string
	for _, found := range l.world.api.list("pods") {
		other := found.object.(*core.Pod)
		if !holds(other) || other.Spec.NodeName != pod.Spec.NodeName {
			continue
		}
		theirs, _ := devicesOf(other)
		for index, share := range theirs {
			if used[index] += share; mine[index] != 0 && other != pod {
				with = append(with, other.Name)
			}
		}
	}
	for index := range mine {
		if used[index] > 1000 {
			l.world.breaks("no device twice", "%s: device %d of %s has %d per mille given, beside %v", pod.Name, index, pod.Spec.NodeName, used[index], with)
		}
	}
}

// quota: a queue holds no more than its limit.
func (l *laws) quota() {
	sum := 0
	for _, j := range l.world.jobs {
		if j.queue != limited {
			continue
		}
		for i := range j.pods {
			if holds(j.pod(i)) {
				sum += j.perMille()
			}
		}
	}
	if sum > limitGPUs*1000 {
		l.world.breaks("quotas kept", "queue %s holds %d per mille of GPUs, limit %d", limited, sum, limitGPUs*1000)
	}
}

// gang: a gang is below its minimum, and holds something, for no longer than the bound.
func (l *laws) gang(j *job) {
	count, holding := 0, false
	for i := range j.pods {
		pod := j.pod(i)
		if holds(pod) && pod.DeletionTimestamp == nil {
			holding = true
		}
		if holds(pod) && pod.DeletionTimestamp == nil || pod != nil && pod.Status.Phase == core.PodSucceeded || j.succeeded[i] {
			count++
		}
	}
	since, half := l.halfSince[j.name]
	switch now := l.world.now(); {
	case holding && count < j.min && !half:
		l.halfSince[j.name] = now
	case half && (!holding || count >= j.min):
		delete(l.halfSince, j.name)
		l.half(j, since, now)
	}
}

func (l *laws) half(j *job, from, to time.Duration) {
	if calm := l.world.calm(from, to); calm > mostHalf {
		l.world.breaks("no gang half bound", "%s from %.1f s to %.1f s, %.1f s of which without a fault", j.name, from.Seconds(), to.Seconds(), calm.Seconds())
	}
}

// bound: only the holder of the lease binds.
func (l *laws) bound(c *client, key string) {
	l.binds++
	l.world.note("%s bound %s", c.name, key)
	if l.leader != nil && l.leader != c {
		l.world.breaks("one leader binds", "%s bound %s after %s had taken the lease", c.name, key, l.leader.name)
	}
}

// leads: the process has written the lease.
func (l *laws) leads(c *client, holder string) {
	if holder != "" && l.leader != c {
		l.leader = c
		l.terms++
		l.world.note("%s leads", c.name)
	}
}

// restored: what the API server says has changed without a change.
func (l *laws) restored() {
	l.halfSince = map[string]time.Duration{}
	for _, j := range l.world.jobs {
		l.gang(j)
	}
	l.leader = nil // until one writes the lease again
}

// settled: all jobs are done, nothing of them is left, and nothing is written any more.
func (l *laws) settled() bool {
	w := l.world
	if w.now() < lastFault+40*time.Second || w.now()-l.lastWrite < quietFor {
		return false
	}
	return len(l.unfinished()) == 0
}

func (l *laws) unfinished() (out []string) {
	for _, j := range l.world.jobs {
		if !j.done {
			out = append(out, j.name)
		}
	}
	return out
}

// final checks what has to be so at the end.
func (l *laws) final() {
	w := l.world
	if lost := l.unfinished(); len(lost) > 0 {
		w.breaks("nothing lost", "not done %.0f s after the last fault: %s", (w.now() - lastFault).Seconds(), strings.Join(lost, ", "))
	} else if since := w.now() - l.lastWrite; since < quietFor {
		w.breaks("the system settles", "something was written %.3f s before the end, and all jobs were done at %.1f s", since.Seconds(), l.lastDone().Seconds())
	}
	for _, name := range sortedKeys(l.halfSince) {
		l.half(w.jobOf("podgroups/"+name), l.halfSince[name], w.now())
	}
	if len(w.broken) > 0 {
		return
	}
	for _, e := range w.engines.of {
		state := e.state()
		if e.holder == nil || state == nil {
			continue
		}
		if len(state.GetTasks()) > 0 || len(state.GetJobs()) > 0 {
			w.breaks("the engine follows", "%d tasks and %d jobs are left in engine %d: %v", len(state.GetTasks()), len(state.GetJobs()), e.number, state.GetTasks())
		}
		for _, node := range state.GetNodes() {
			for i, device := range node.GetDevices() {
				if device.GetUsers() > 0 || device.GetUnhealthy() {
					w.breaks("the engine follows", "device %d of %s: %d users, unhealthy %v", i, node.GetName(), device.GetUsers(), device.GetUnhealthy())
				}
			}
		}
	}
	for _, k := range w.nodes {
		if len(k.containers) > 0 {
			w.breaks("nothing lost", "%d containers are left on %s", len(k.containers), k.name)
		}
	}
}

func (l *laws) lastDone() (last time.Duration) {
	for _, j := range l.world.jobs {
		last = max(last, j.doneAt)
	}
	return last
}

func sortedKeys[K cmp.Ordered, V any](of map[K]V) []K { return slices.Sorted(maps.Keys(of)) }

func sortedBy[K comparable, V any](of map[K]V, key func(V) string) []V {
	return slices.SortedFunc(maps.Values(of), func(a, b V) int { return strings.Compare(key(a), key(b)) })
}
