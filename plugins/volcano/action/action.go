// Package action is Volcano's action "tephra": once a session it tells the engine what is new, asks
// for a plan, carries the plan out on Statements, and says to each gang's owner what the engine
// said of it. It decides nothing itself.
package action

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	vcclient "volcano.sh/apis/pkg/client/clientset/versioned"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/facts"
	"tephra.sh/volcano/link"
	"tephra.sh/volcano/memory"
	pb "tephra.sh/volcano/tephrav1"
)

// Name is what a scheduler configuration calls the action.
const Name = "tephra"

// reservationTimeout bounds how long one cycle waits for the API server to write reserved rooms.
const reservationTimeout = 3 * time.Second

// Options of the action.
type Options struct {
	EngineSocket string
	// Engine, if set, is where calls go instead of the socket.
	Engine pb.EngineServiceClient
	// Clock is the wall clock that the engine follows; nil: time.Now.
	Clock func() time.Time
	// Client names this process to the engine.
	Client string
	// LeaseTerm is link.Options.LeaseTerm.
	LeaseTerm func() uint64
	// Timeout bounds the wait for one plan, a full sync included.
	Timeout time.Duration
	// Fallback runs in place of the engine's plan while there is no engine; nil: nothing is
	// scheduled then.
	Fallback []framework.Action
	// Memory has what the engine remembers; nil: only this process keeps it.
	Memory *memory.Store
	// Recorder publishes events; those about the scheduler itself are about Self.
	Recorder record.EventRecorder
	Self     *v1.ObjectReference
}

// Action implements framework.Action. One session runs at a time.
type Action struct {
	options      Options
	feed         *facts.Feed
	link         *link.Link
	outcomes     *outcomes
	flight       *inFlight
	reservations *reservations
	lagging      lagging
	admissions   admissions
	masks        maskTurns
	syncs        int64 // of the engine that has the facts now
	notices      *notices
	engine       *engineWatch
	ahead        chan struct{} // closed once Prepare is through; nil: not called
	aheadErr     error         // of the last Prepare; read once ahead is closed
	narrow       narrow
}

// New makes the action of one scheduler. The feed must have synced before the first session, and
// Volcano's cache may start only after New, which registers the resources that the cache must not count.
func New(feed *facts.Feed, options Options) (*Action, error) {
	if options.Memory == nil {
		options.Memory = &memory.Store{}
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	a := &Action{options: options, feed: feed, flight: newInFlight(), reservations: newReservations(), lagging: lagging{}, admissions: admissions{}, notices: newNotices(options.Recorder), narrow: newNarrow(),
		engine: &engineWatch{recorder: options.Recorder, self: options.Self, meantime: "nothing is scheduled"}}
	if len(options.Fallback) > 0 {
		a.engine.meantime = "Volcano's stock actions schedule"
	}
	a.outcomes = &outcomes{feed: feed, memory: options.Memory}
	// The cache takes no pod for a node that does not have its resources, and kubelets ignore
	// resources that the node does not know at all.
	api.IgnoredDevicesList.AppendList(feed.DeviceParts())
	if len(options.Fallback) == 0 { // stock actions know of devices by their number only
		api.IgnoredDevicesList.AppendList(feed.DeviceCounts())
	}
	var err error
	a.link, err = link.New(link.Options{Socket: options.EngineSocket, Engine: options.Engine, Client: options.Client, LeaseTerm: options.LeaseTerm}, a.outcomes)
	return a, err
}

// Name implements framework.Action.
func (a *Action) Name() string { return Name }

// Initialize implements framework.Action.
func (a *Action) Initialize() {}

// UnInitialize implements framework.Action.
func (a *Action) UnInitialize() {}

// EngineReachable says whether the last cycle had an engine.
func (a *Action) EngineReachable() bool { return a.engine.reachable() }

// Engine answers questions beside the cycles.
func (a *Action) Engine() pb.EngineServiceClient { return a.link.Calls() }

// Unsettled says whether the next cycle has to tell what became of this one's plan, or may learn
// what became of its binds, even if nothing else changes.
func (a *Action) Unsettled() bool {
	return a.outcomes.waiting() || len(a.flight.binds) > 0 || len(a.lagging) > 0 || a.admissions.unsettled() || a.masks.left || a.narrow.masksWait
}

// Close ends the link to the engine, which another scheduler may then have.
func (a *Action) Close() error {
	a.prepared()
	return a.link.Close()
}

// Prepare begins to tell the engine what is new, while the next session opens. It may be left out.
func (a *Action) Prepare() {
	a.prepared() // a session may have ended without us
	ahead := make(chan struct{})
	a.ahead = ahead
	go func() {
		defer close(ahead)
		ctx, cancel := context.WithTimeout(context.Background(), a.options.Timeout)
		defer cancel()
		a.aheadErr = a.link.Tell(ctx) // the cycle tries again
	}()
}

// prepared waits for Prepare: the link is for one at a time.
func (a *Action) prepared() {
	if a.ahead != nil {
		<-a.ahead
		a.ahead = nil
	}
}

// Execute runs one cycle.
func (a *Action) Execute(ssn *framework.Session) {
	a.prepared()
	a.narrow.whole(a.feed.Changes())
	a.settle(statusIn(ssn))
	a.judgeMasks(ssn)
	reply := a.narrow.left
	a.narrow.left = nil
	if reply == nil {
		if reply = a.ask(); reply == nil {
			for _, stock := range a.options.Fallback {
				stock.Execute(ssn)
			}
			return
		}
		a.hear(reply, ssn.VCClient())
	}
	a.carryOut(ssn, reply)
	a.admitUngated(ssn)
	a.notices.write(ssn, a.feed, maps.Keys(a.notices.byJob))
}

// ask asks the engine for a plan; nil: it does not answer.
func (a *Action) ask() *pb.CycleReply {
	ctx, cancel := context.WithTimeout(context.Background(), a.options.Timeout)
	defer cancel()
	started := time.Now()
	reply, err := a.link.Cycle(ctx, a.options.Clock())
	fullSyncs.Set(float64(a.link.Syncs()))
	if err != nil {
		a.engine.lost(err, a.aheadErr)
		return nil
	}
	a.engine.found()
	if syncs := a.link.Syncs(); syncs != a.syncs {
		a.syncs = syncs
		clear(a.admissions)
		clear(a.lagging) // an engine that starts over decides again
	}
	engineSeconds.Observe(time.Since(started).Seconds())
	if remembered := reply.GetPlan().GetMemory(); remembered != nil {
		a.options.Memory.Keep(remembered)
	}
	return reply
}

// hear notes what a plan says to owners of gangs.
func (a *Action) hear(reply *pb.CycleReply, client vcclient.Interface) {
	a.notices.take(a.feed, reply)
	a.reportProblems(client)
}

func (a *Action) carryOut(ssn *framework.Session, reply *pb.CycleReply) {
	// However many groups have to be written, the session waits for no more than that.
	ctx, cancel := context.WithTimeout(context.Background(), reservationTimeout)
	defer cancel()
	decided := reply.GetPlan().GetDecisions()
	a.admissions.again(a, ssn, decided)
	for _, decision := range slices.Concat(a.lagging.again(decided), decided) {
		a.reservations.follow(a.feed, decision)
		var outcome outcome
		var why string
		switch {
		case decision.GetVerdict() == pb.Verdict_VERDICT_START_AFTER_EVICTION:
			outcome, why = a.makeRoom(ctx, ssn, decision)
		case len(decision.GetPlacements()) > 0:
			outcome, why = a.place(ssn, decision)
		case decision.GetVerdict() == pb.Verdict_VERDICT_UNWIND:
			a.unwind(ssn, decision)
			continue
		default:
			continue
		}
		placedGangs.WithLabelValues(string(outcome)).Inc()
		if outcome != handedOver && outcome != admitted && outcome != reserved && outcome != behind {
			klog.V(2).InfoS("A decision was not carried out", "job", decision.GetJob(), "outcome", outcome, "why", why)
		}
	}
	a.reservations.lift(ctx, ssn, a.feed)
}
