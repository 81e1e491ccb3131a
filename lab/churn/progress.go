package churn

import (
	"maps"
	"slices"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// progress is how far each gang has come, as the API server tells it. Its methods may be called from
// several goroutines.
type progress struct {
	mu      sync.Mutex
	gangs   map[string]*standing
	devices *Devices
	created map[types.UID]bool
	bound   map[types.UID]bool
	ended   map[string]batch.JobPhase
	faults  []string
	// When the last pod was created, and the last one bound.
	lastPod, lastBind time.Time
}

// standing is a gang, and those of its pods that are bound.
type standing struct {
	Gang
	bound map[types.UID]bool // and whether it still runs, or is to
	half  time.Time          // since when it is bound in part; zero: it is not
}

// inPart: it holds room with fewer pods than may start. One of which some have ended and the others
// were evicted holds none, and may wait.
func (s *standing) inPart() bool {
	holds := false
	for _, runs := range s.bound {
		holds = holds || runs
	}
	return holds && len(s.bound) < int(s.Least)
}

func newProgress(devices *Devices) *progress {
	return &progress{gangs: map[string]*standing{}, devices: devices, created: map[types.UID]bool{},
		bound: map[types.UID]bool{}, ended: map[string]batch.JobPhase{}}
}

func (p *progress) submitted(gang Gang) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gangs[gang.Name] = &standing{Gang: gang, bound: map[types.UID]bool{}}
}

// pod takes a pod as it is now, or that it is gone.
func (p *progress) pod(pod *core.Pod, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gang := p.gangs[pod.Annotations[batch.JobNameKey]]
	if gang == nil {
		return
	}
	now := time.Now()
	if p.devices != nil {
		p.faults = append(p.faults, p.devices.Observe(pod, gone)...)
	}
	if !p.created[pod.UID] {
		p.created[pod.UID] = true
		p.lastPod = now
	}
	isBound := pod.Spec.NodeName != ""
	if isBound && !p.bound[pod.UID] {
		p.bound[pod.UID] = true
		p.lastBind = now
	}
	if isBound && !gone {
		gang.bound[pod.UID] = pod.Status.Phase != core.PodSucceeded && pod.Status.Phase != core.PodFailed
	} else {
		delete(gang.bound, pod.UID)
	}
	if !gang.inPart() || p.ended[gang.Name] != "" {
		gang.half = time.Time{}
	} else if gang.half.IsZero() {
		gang.half = now
	}
}

// job takes a Job as it is now.
func (p *progress) job(job *batch.Job, _ bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch phase := job.Status.State.Phase; phase {
	case batch.Completed, batch.Failed, batch.Aborted, batch.Terminated:
		p.ended[job.Name] = phase
	}
}

// counts are numbers of Jobs and pods.
type counts struct{ submitted, ended, created, bound int }

func (p *progress) counts() counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return counts{len(p.gangs), len(p.ended), len(p.created), len(p.bound)}
}

// boundInPart are the gangs that hold room with fewer pods than may start.
func (p *progress) boundInPart() (found []standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.gangs)) {
		if gang := p.gangs[name]; !gang.half.IsZero() {
			copied := *gang
			copied.bound = maps.Clone(gang.bound)
			found = append(found, copied)
		}
	}
	return found
}

// unended are the names of the gangs that have not ended.
func (p *progress) unended() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.gangs)) {
		if p.ended[name] == "" {
			names = append(names, name)
		}
	}
	return names
}

// endedBut are the names of the gangs that have ended and are not in the set.
func (p *progress) endedBut(known map[string]bool) (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.ended)) {
		if !known[name] {
			names = append(names, name)
		}
	}
	return names
}
