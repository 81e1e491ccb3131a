package action

import (
	"maps"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/volcano/facts"
	pb "tephra.sh/volcano/tephrav1"
	"tephra.sh/volcano/view"
)

const (
	// StatusInterval passes at least between two looks at groups that changed but about which nothing was decided: each
	// event of a pod changes its group, and a gang has many pods.
	StatusInterval = 50 * time.Millisecond
	// mostAtOnce of these groups are in one session, so that decisions do not wait for the others.
	mostAtOnce = 64
	// nextInterval passes between two of these sessions where there are more groups.
	nextInterval = 10 * time.Millisecond
	// mostClosing sessions end in the background at a time.
	mostClosing = 32
	// closingFor is how long a decision waits for the end of a session that shows its job.
	closingFor = 20 * time.Millisecond
	// queueInterval passes at least between two writes of what queues hold, and between two tries to write a status.
	queueInterval = time.Second
	// Sessions of the whole cluster for masks take one part of the time, and leave so many to other sessions.
	restForMasks = 4
	// Of what our informers do not show, such as devices of claims, a session of the whole cluster learns so often.
	unseenInterval = 10 * time.Second
)

// narrow is what cycles without a session of the whole cluster leave to the next one.
type narrow struct {
	moved     map[string]time.Time // groups by namespace/name whose status may have to be written, and since when
	order     []string             // of moved
	looked    time.Time            // at moved
	through   bool                 // all groups were looked at once
	queues    time.Time            // when what queues hold was written, and failed writes were tried again
	left      *pb.CycleReply       // a plan that only a session of the whole cluster can carry out
	masksWait bool                 // masks are to be judged again later

	closing map[api.JobID]chan struct{} // by the sessions that end in the background
	open    chan struct{}               // a place for each of them

	wholeEnded   time.Time // the last session of the whole cluster
	wholeTook    time.Duration
	wholeChanges uint64 // which of the informers' it had seen
}

func newNarrow() narrow {
	return narrow{moved: map[string]time.Time{}, closing: map[api.JobID]chan struct{}{}, open: make(chan struct{}, mostClosing)}
}

// close ends the session in the background: it writes statuses, and decisions about other gangs do not wait for the API
// server. Two sessions of one job do no harm, since the API server takes no write that is out of date.
func (n *narrow) close(ssn *framework.Session) {
	n.open <- struct{}{}
	closed := make(chan struct{})
	for id := range ssn.Jobs {
		n.closing[id] = closed
	}
	go func() {
		framework.CloseSession(ssn)
		close(closed)
		<-n.open
	}()
}

// awaitClosing waits a moment for sessions that still write the statuses of these jobs.
func (n *narrow) awaitClosing(jobs map[api.JobID]bool) {
	enough := time.After(closingFor)
	for id := range jobs {
		closed := n.closing[id]
		if closed == nil {
			continue
		}
		select {
		case <-closed:
		case <-enough:
			return
		}
	}
}

// sweep forgets sessions that have ended.
func (n *narrow) sweep() {
	for id, closed := range n.closing {
		select {
		case <-closed:
			delete(n.closing, id)
		default:
		}
	}
}

// AwaitClosed returns once what was decided is written.
func (a *Action) AwaitClosed() {
	for _, closed := range a.narrow.closing {
		<-closed
	}
}

// whole: a session of the whole cluster is open, since the informers have reported so many changes.
func (n *narrow) whole(changes uint64) {
	n.wholeEnded, n.wholeChanges, n.masksWait = time.Now(), changes, false
}

// WholeTook says how long a session of the whole cluster took, which ends now.
func (a *Action) WholeTook(took time.Duration) {
	a.narrow.wholeEnded, a.narrow.wholeTook = time.Now(), took
}

func (n *narrow) move(keys []string, now time.Time) {
	for _, key := range keys {
		if _, known := n.moved[key]; !known {
			n.moved[key] = now
			n.order = append(n.order, key)
		}
	}
}

// Moving is after which time a narrow cycle is to look at groups that have changed; 0: there are none.
func (a *Action) Moving() time.Duration {
	switch {
	case len(a.narrow.order) > mostAtOnce:
		return nextInterval
	case len(a.narrow.order) > 0:
		return StatusInterval
	}
	return 0
}

// Narrow runs one cycle in which a session shows no more than the plan is about. It returns false where a session of
// the whole cluster has to follow, in which Execute goes on.
func (a *Action) Narrow(cluster *view.Cache, open func() *framework.Session) bool {
	a.prepared()
	now := time.Now()
	a.narrow.sweep()
	a.narrow.move(a.feed.Moved(), now)
	if a.masksDue(now) || cluster.Claims() && now.Sub(a.narrow.wholeEnded) >= unseenInterval {
		return false
	}
	a.settleBy(cluster)
	reply := a.ask()
	if reply == nil && len(a.options.Fallback) > 0 {
		return false
	}
	about := newSubject()
	if reply != nil {
		a.hear(reply, cluster.VCClient())
		a.about(about, reply, now)
		cluster.Await(about.await)
		if about.whole || cluster.InRoot(about.Jobs) {
			a.narrow.left = reply
			return false
		}
	}
	a.lookAtMoved(cluster, about.Names, now)
	if len(about.Jobs) > 0 {
		a.narrow.awaitClosing(about.Jobs)
		cluster.Show(about.Names)
		ssn := open()
		if reply != nil {
			a.carryOut(ssn, reply)
			a.admitUngated(ssn)
			for _, gang := range ssn.Jobs {
				about.noticed[string(gang.PodGroup.UID)] = true
			}
			a.notices.write(ssn, a.feed, slices.Values(slices.Sorted(maps.Keys(about.noticed))))
		}
		a.narrow.close(ssn)
	}
	if now.Sub(a.narrow.queues) >= queueInterval && a.narrow.through {
		a.narrow.queues = now
		a.again(cluster.Failed(), now)
		cluster.WriteQueues()
	}
	return true
}

// again has statuses written once more that were not written.
func (a *Action) again(groups []string, now time.Time) {
	a.narrow.move(groups, now)
	for _, key := range groups {
		if uid := a.feed.Versions(key).UID; a.notices.byJob[uid] != nil {
			a.notices.byJob[uid].written = nil
		}
	}
}

// masksDue: pods wait for masks, which are judged with all nodes: at once where one was never judged, else when sessions
// of the whole cluster have taken little of the time.
func (a *Action) masksDue(now time.Time) bool {
	waiting := false
	for _, class := range a.feed.MaskedClasses() {
		if class.Example.UID == "" {
			a.feed.SetMask(class.Name, nil) // a template, of which no node is excluded
			continue
		}
		if waiting = true; a.masks.judged[class.Name] == 0 {
			return true
		}
	}
	since := now.Sub(a.narrow.wholeEnded)
	a.narrow.masksWait = waiting && a.narrow.wholeChanges != a.feed.Changes()
	return (a.narrow.masksWait || waiting && since >= unseenInterval) && since >= restForMasks*a.narrow.wholeTook
}

func (a *Action) settleBy(cluster *view.Cache) {
	if len(a.flight.binds) == 0 {
		return
	}
	pods := make(map[string]api.JobID, len(a.flight.binds))
	for pod, b := range a.flight.binds {
		pods[pod] = b.gang
	}
	statuses := cluster.Statuses(pods)
	a.settle(func(_ api.JobID, pod string) (api.TaskStatus, bool) {
		status, known := statuses[pod]
		return status, known
	})
}

// subject is what a session has to show to carry out a plan.
type subject struct {
	view.Names
	noticed map[string]bool        // jobs by uid of which something is to be written
	await   map[api.JobID][]string // pods by uid that Volcano's cache may not know yet
	whole   bool                   // only a session of the whole cluster can carry it out
}

func newSubject() *subject {
	return &subject{view.NewNames(), map[string]bool{}, map[api.JobID][]string{}, false}
}

func (a *Action) about(s *subject, reply *pb.CycleReply, now time.Time) {
	show := func(uid string) (job facts.JobRef, known bool) {
		if job, known = a.feed.Job(uid); known {
			s.Jobs[jobID(job)] = true
		}
		return job, known
	}
	decided := reply.GetPlan().GetDecisions()
	for _, decision := range slices.Concat(a.lagging.again(decided), decided) {
		if len(decision.GetPlacements()) == 0 && len(decision.GetEvictions()) == 0 {
			continue
		}
		job, known := show(decision.GetJob())
		if known {
			s.await[jobID(job)] = nil
		}
		for _, eviction := range decision.GetEvictions() {
			if theirs, known := show(eviction.GetJob()); known {
				s.Victims[jobID(theirs)] = append(s.Victims[jobID(theirs)], eviction.GetUid())
			}
		}
		if !known || !job.HasPods || decision.GetVerdict() == pb.Verdict_VERDICT_START_AFTER_EVICTION {
			continue // no pod is bound
		}
		s.whole = s.whole || a.feed.NeedsWholeCluster(decision.GetJob())
		for _, placement := range decision.GetPlacements() {
			s.Nodes[placement.GetNode()] = true
			if pod, known := a.feed.Pod(decision.GetJob(), placement.GetRole(), placement.GetIndex()); known {
				s.await[jobID(job)] = append(s.await[jobID(job)], pod.UID)
			}
		}
	}
	for uid, in := range a.admissions {
		if !in {
			show(uid)
		}
	}
	a.reservations.look(a.feed)
	for uid := range a.reservations.spent {
		if _, known := show(uid); !known {
			a.reservations.forget(uid)
		}
	}
	for _, uid := range a.notices.pending(a.feed, now) {
		s.noticed[uid] = true
		if job, known := show(uid); known {
			s.await[jobID(job)] = s.await[jobID(job)] // a group that Volcano does not know is written to in another way
		}
	}
}

// lookAtMoved adds groups whose status may have to be written, once Volcano's cache knows them as the facts do.
func (a *Action) lookAtMoved(cluster *view.Cache, names view.Names, now time.Time) {
	n := &a.narrow
	if now.Sub(n.looked) < a.Moving() {
		return
	}
	n.looked = now
	groups := map[string]facts.Versions{}
	next := n.order[:min(len(n.order), mostAtOnce)]
	for _, key := range next {
		groups[key] = a.feed.Versions(key)
	}
	behind := cluster.Behind(groups)
	n.order = slices.Clone(n.order[len(next):])
	for _, key := range next {
		if n.closing[api.JobID(key)] != nil || behind[key] && now.Sub(n.moved[key]) < lagPatience {
			n.order = append(n.order, key)
			continue
		}
		delete(n.moved, key)
		names.Jobs[api.JobID(key)] = true
	}
	n.through = n.through || len(n.order) == 0
}
