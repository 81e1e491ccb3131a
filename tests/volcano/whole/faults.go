package whole

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is what goes wrong.
type Kind string

const (
	LoseRequests Kind = "lose requests"   // to the API server, half of them
	LoseAnswers  Kind = "lose answers"    // of what the API server has done, half of them
	Duplicate    Kind = "duplicate"       // writes arrive twice, half of them
	SlowAPI      Kind = "slow API"        // each request takes up to two seconds, so that they overtake each other
	Throttle     Kind = "throttle"        // 429 with Retry-After, to half of the requests
	ServerErrors Kind = "server errors"   // 500 to half of the requests
	Partition    Kind = "partition"       // nothing gets through to the API server
	Pause        Kind = "pause"           // what the process sent or would receive waits
	LagWatches   Kind = "lag watches"     // events are late, those of each resource by their own time
	CutWatches   Kind = "cut watches"     // once
	Compact      Kind = "compact"         // no watch and no list for this time, after which clients have to list again
	StaleLists   Kind = "stale lists"     // a list is of up to five seconds ago where the client allows it
	CrashLeader  Kind = "crash scheduler" // and a start afterwards
	CrashEngine  Kind = "crash engine"    // the same
	HangEngine   Kind = "hang engine"     // its answers wait
	CutStream    Kind = "cut stream"      // between scheduler and engine, once
	LosePlans    Kind = "lose plans"      // the stream is cut after the engine has planned, half of the times
	ClockJump    Kind = "clock jump"      // of the scheduler's wall clock
	NodeDown     Kind = "node down"       // the node hears and says nothing, and is soon not ready
	Reboot       Kind = "reboot"          // all pods of the node fail, once
	UnhealthyGPU Kind = "unhealthy GPU"   // of a node
	// The API server has the state of some seconds ago. At the end the operator starts the schedulers again, as Kubernetes'
	// documentation asks for: Volcano's cache ignores an update by which a pod loses its node.
	Restore       Kind = "restore"
	DiskFull      Kind = "disk full"      // the engine's journal cannot be written
	OtherProtocol Kind = "other protocol" // the engine is of another version, and refuses the scheduler
	OtherWriters  Kind = "other writers"  // write the pod groups, so that updates conflict
)

// kinds are all of them, with how long each lasts at most.
var kinds = []struct {
	kind Kind
	most time.Duration
	of   int // targets: instances or nodes
}{
	{LoseRequests, 8 * time.Second, instances}, {LoseAnswers, 8 * time.Second, instances}, {Duplicate, 10 * time.Second, instances},
	{SlowAPI, 10 * time.Second, instances}, {Throttle, 8 * time.Second, instances}, {ServerErrors, 8 * time.Second, instances},
	{Partition, 25 * time.Second, instances}, {Pause, 4 * time.Second, instances}, {LagWatches, 12 * time.Second, instances},
	{CutWatches, time.Second, 1}, {Compact, 8 * time.Second, 1}, {StaleLists, 20 * time.Second, instances},
	{CrashLeader, 10 * time.Second, instances}, {CrashEngine, 8 * time.Second, instances}, {HangEngine, 12 * time.Second, instances},
	{CutStream, time.Second, instances}, {LosePlans, 6 * time.Second, instances}, {ClockJump, 20 * time.Second, instances},
	{NodeDown, 20 * time.Second, nodeCount}, {Reboot, time.Second, nodeCount}, {UnhealthyGPU, 15 * time.Second, nodeCount},
	{Restore, 12 * time.Second, 1}, {DiskFull, 15 * time.Second, instances}, {OtherProtocol, 8 * time.Second, instances},
	{OtherWriters, 15 * time.Second, 1},
}

// Fault is one thing that goes wrong for some time.
type Fault struct {
	Kind   Kind
	At     time.Duration
	For    time.Duration
	Target int // an instance of the scheduler, or a node
	Value  int64
}

func (f Fault) String() string {
	return fmt.Sprintf("%s at %.3f s for %.3f s, target %d, value %d", f.Kind, f.At.Seconds(), f.For.Seconds(), f.Target, f.Value)
}

// Faults begin after firstFault and have ended by lastFault.
const (
	firstFault = 3 * time.Second
	lastFault  = 60 * time.Second
)

// Plan is what goes wrong in the run of that seed, in the order of time.
func Plan(seed uint64) []Fault {
	random := rand.New(rand.NewPCG(seed, 1))
	var out []Fault
	for range 2 + random.IntN(9) {
		of := kinds[random.IntN(len(kinds))]
		f := Fault{Kind: of.kind, For: of.most/10 + time.Duration(random.Int64N(int64(of.most*9/10))), Value: random.Int64N(1 << 20)}
		f.At = firstFault + time.Duration(random.Int64N(int64(lastFault-firstFault-f.For)))
		// Half of what may hit an instance hits the first, which usually leads.
		if f.Target = random.IntN(2 * of.of); f.Target >= of.of {
			f.Target = 0
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Fault) int { return int(a.At - b.At) })
	return out
}

// schedule sets off what happens once. REQUIRES: the lock is held.
func (w *World) schedule() {
	for i := range w.Faults {
		f := w.Faults[i]
		w.after(f.At, func() {
			w.note("FAULT %s", f)
			w.begin(f)
		})
		w.after(f.At+f.For, func() {
			w.note("END %s", f.Kind)
			w.end(f)
		})
	}
}

func (w *World) begin(f Fault) {
	switch f.Kind {
	case CutWatches:
		w.api.cutWatches()
	case Compact:
		w.api.compact()
	case Restore:
		w.restore(time.Duration(1+f.Value%8) * time.Second)
	case CrashLeader:
		w.schedulers[f.Target].crash()
	case CrashEngine:
		w.engines.of[f.Target].crash()
	case CutStream:
		w.engines.of[f.Target].cut("the stream was cut")
	case OtherProtocol:
		w.engines.of[f.Target].cut("the engine is replaced")
	case DiskFull:
		w.engines.fullDisk(true)
	case NodeDown, UnhealthyGPU:
		w.nodes[f.Target].tell(f.Kind == NodeDown)
	case Reboot:
		w.nodes[f.Target].reboot()
	case OtherWriters:
		w.writeGroups(f)
	}
}

func (w *World) end(f Fault) {
	switch f.Kind {
	case CrashLeader:
		w.schedulers[f.Target].start()
	case Compact:
		w.api.compact()
	case Restore:
		for _, i := range w.schedulers {
			if i.client != nil {
				i.crash()
				w.after(w.between("operator starts", time.Second, 2*time.Second), i.start)
			}
		}
	case CrashEngine:
		w.engines.of[f.Target].start()
	case OtherProtocol:
		w.engines.of[f.Target].crash()
		w.engines.of[f.Target].start()
	case DiskFull:
		w.engines.fullDisk(w.active(DiskFull, -1) != nil)
	case NodeDown, UnhealthyGPU:
		w.nodes[f.Target].tell(false)
	}
}

// heldUntil is when what is held for a paused process goes on; 0: nothing is.
func (w *World) heldUntil(c *client) time.Duration {
	if f := w.active(Pause, c.number); f != nil {
		return f.At + f.For
	}
	return 0
}

// calm is how much of the time between two instants no fault stood.
func (w *World) calm(from, to time.Duration) time.Duration {
	var out time.Duration
	at := from
	for _, f := range w.Faults { // in the order of their beginnings
		if f.At > to {
			break
		}
		if f.At > at {
			out += f.At - at
		}
		at = max(at, f.At+f.For)
	}
	return out + max(to-at, 0)
}
