package action

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	vcfake "volcano.sh/apis/pkg/client/clientset/versioned/fake"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"tephra.sh/tests/volcano/sink"
	"tephra.sh/volcano/annotations"
	"tephra.sh/volcano/facts"
	pb "tephra.sh/volcano/tephrav1"
)

const configuration = `
actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
`

// stage is a node of two GPUs that the two pods of the gang "guest" have, and the gang "owner" of one
// pod that waits; the engine's part is played by the test.
type stage struct {
	*sink.Cluster
	t       *testing.T
	action  *Action
	profile sink.Profile
	events  *record.FakeRecorder

	mutex   sync.Mutex
	evicted []string // "pod: reason", each with "!" in front where no room had been written down
}

func newStage(t *testing.T, ownersQueue string, change ...func(owner *v1beta1.PodGroup)) *stage {
	t.Helper()
	cluster, err := sink.New(&facts.Options{Admit: true})
	ok(t, err)
	t.Cleanup(cluster.Stop)
	s := &stage{Cluster: cluster, t: t, events: record.NewFakeRecorder(100)}
	cluster.Cache.Evictor = s
	s.profile, err = sink.ReadProfile(configuration)
	ok(t, err)
	node, err := sink.GPUNode("n1", 2)
	ok(t, err)
	guest, guests := sink.Gang("guest", "guests", 2, sink.GPUs(1))
	guest.Status.Phase = v1beta1.PodGroupRunning
	guest.Status.Running = 2
	owner, owners := sink.Gang("owner", ownersQueue, 1, sink.GPUs(1))
	objects := []runtime.Object{node, sink.Queue("guests"), sink.Queue("owners"), guest, owner}
	for _, pod := range guests {
		pod.Spec.NodeName, pod.Status.Phase = "n1", corev1.PodRunning
		objects = append(objects, pod)
	}
	for _, c := range change {
		c(owner)
	}
	if owner.Status.Phase != v1beta1.PodGroupPending {
		objects = append(objects, owners[0])
	}
	ok(t, cluster.Add(objects...))
	ok(t, cluster.Start())
	s.action = &Action{options: Options{Recorder: s.events}, feed: cluster.Feed, outcomes: &outcomes{feed: cluster.Feed},
		flight: newInFlight(), reservations: newReservations(), lagging: lagging{}, admissions: admissions{}, notices: newNotices(s.events)}
	cluster.Feed.Sync()
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Evict implements the cache's Evictor.
func (s *stage) Evict(pod *corev1.Pod, reason string) error {
	line := pod.Name + ": " + reason
	group, err := s.groups().SchedulingV1beta1().PodGroups(sink.Namespace).Get(context.Background(), "owner", metav1.GetOptions{})
	if err != nil || group.Annotations[annotations.ReservedRoomKey] == "" {
		line = "!" + line
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.evicted = append(s.evicted, line)
	return nil
}

func (s *stage) groups() *vcfake.Clientset { return s.Cache.VCClient().(*vcfake.Clientset) }

func (s *stage) group(name string) *v1beta1.PodGroup {
	s.t.Helper()
	group, err := s.groups().SchedulingV1beta1().PodGroups(sink.Namespace).Get(context.Background(), name, metav1.GetOptions{})
	ok(s.t, err)
	return group
}

// room is the room that the API server has as reserved for the gang "owner".
func (s *stage) room() string { return s.group("owner").Annotations[annotations.ReservedRoomKey] }

// play carries the plan out in a session.
func (s *stage) play(decisions ...*pb.Decision) {
	reply := &pb.CycleReply{Plan: &pb.Plan{Decisions: decisions}}
	for _, decision := range decisions {
		if decision.GetVerdict() != pb.Verdict_VERDICT_START {
			reply.Notes = append(reply.Notes, &pb.Note{Job: decision.GetJob(), Part: decision.GetPart(), Obstacle: "Releasing",
				Text: "room is reserved"})
		}
	}
	s.Session(s.profile, sink.Do("carry out", func(ssn *framework.Session) {
		s.action.settle(statusIn(ssn))
		s.action.carryOut(ssn, reply)
		s.action.notices.take(s.Feed, reply)
		s.action.admitUngated(ssn)
		s.action.notices.write(ssn, s.Feed, maps.Keys(s.action.notices.byJob))
	}))
}

// cycle plays the plan and shows the informers what was written.
func (s *stage) cycle(decisions ...*pb.Decision) {
	s.t.Helper()
	s.play(decisions...)
	owner := s.group("owner")
	ok(s.t, s.Settle())
	now := s.group("owner")
	now.Annotations = owner.Annotations // a fake server knows no versions: the session's copy came last
	ok(s.t, s.Add(now))
	s.Feed.Drain()
}

func (s *stage) evictions(count int) []string {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mutex.Lock()
		lines := slices.Sorted(slices.Values(s.evicted))
		s.mutex.Unlock()
		if len(lines) >= count || time.Now().After(deadline) {
			return lines
		}
	}
}

// reported are the outcomes since the last call.
func (s *stage) reported() string {
	var lines []string
	for _, event := range s.action.outcomes.take() {
		lines = append(lines, fmt.Sprintf("%s of %s", strings.TrimPrefix(fmt.Sprintf("%T", event.GetFact()), "*tephrav1.Event_"),
			event.GetPlanStale().GetJob()))
	}
	return strings.Join(lines, ", ")
}

var onN1 = []*pb.Placement{{Role: "member", Index: 0, Node: "n1", Slices: []*pb.Slice{
	{Device: 1, Mode: pb.SliceMode_SLICE_MODE_WHOLE, Compute: 1000, MemoryMib: sink.DeviceMemoryMiB}}}}

func decision(verdict pb.Verdict, placements []*pb.Placement, victims ...string) *pb.Decision {
	d := &pb.Decision{Job: "group-owner", Part: pb.Part_PART_MINIMUM, Verdict: verdict, Placements: placements}
	for _, pod := range victims {
		d.Evictions = append(d.Evictions, &pb.Eviction{Uid: "pod-" + pod, Job: "group-guest", Role: "member"})
	}
	return d
}

const (
	start   = pb.Verdict_VERDICT_START
	later   = pb.Verdict_VERDICT_START_AFTER_EVICTION
	wait    = pb.Verdict_VERDICT_WAIT
	unwinds = pb.Verdict_VERDICT_UNWIND
)

const roomOnN1 = `{"version":1,"tasks":[{"role":"member","index":0,"node":"n1","slices":[` +
	`{"container":0,"devices":[1],"mode":"whole","compute":1000,"memoryMiB":81920}]}]}`

func TestRoomIsWrittenDownBeforeItsHoldersAreEvicted(t *testing.T) {
	for queue, want := range map[string]string{
		"owners": "tephra: evicted for job bench/owner of queue owners (reclaimed: queue guests holds more than its share)",
		"guests": "tephra: evicted for job bench/owner of queue guests (preempted: it has a higher priority)",
	} {
		s := newStage(t, queue)
		s.cycle(decision(later, onN1, "guest-0", "guest-1"))
		if got := s.evictions(2); !slices.Equal(got, []string{"guest-0: " + want, "guest-1: " + want}) {
			t.Errorf("evicted %q, expected both with %q", got, want)
		}
		if s.room() != roomOnN1 {
			t.Errorf("room %q, expected %q", s.room(), roomOnN1)
		}
		if bound := s.Bindings(); len(bound) > 0 || s.reported() != "" {
			t.Errorf("bound %v, reported %q, expected neither", bound, s.reported())
		}
		// Two pods that went together are one eviction of their gang.
		if count := s.Cache.Jobs["bench/guest"].PodGroup.Annotations[annotations.EvictionsKey]; count != "1" {
			t.Errorf("evictions of guest: %q, expected 1", count)
		}
		condition := s.Cache.Jobs["bench/owner"].PodGroup.Status.Conditions
		if !slices.ContainsFunc(condition, func(c scheduling.PodGroupCondition) bool {
			return c.Type == ConditionType && c.Status == corev1.ConditionFalse && c.Reason == "WaitsForEvictions" &&
				c.Message == "waits for evictions: room is reserved"
		}) {
			t.Errorf("conditions %+v", condition)
		}
	}
}

func TestNoPodIsEvictedForAGangWhoseRoomCannotBeWrittenDown(t *testing.T) {
	s := newStage(t, "owners")
	s.groups().PrependReactor("update", "podgroups", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, fmt.Errorf("no leader")
	})
	s.cycle(decision(later, onN1, "guest-0"))
	if got := s.evictions(0); len(got) > 0 || s.room() != "" {
		t.Errorf("evicted %q, room %q", got, s.room())
	}
	if reported := s.reported(); reported != "PlanStale of group-owner" {
		t.Errorf("reported %q", reported)
	}
	if event := <-s.events.Events; !strings.HasPrefix(event, "Warning ReservationNotWritten no pod is evicted for the gang") || !strings.HasSuffix(event, "no leader") {
		t.Errorf("event %q", event)
	}
}

// pod is that of the API server, for a cache that is to be behind it.
func (s *stage) pod(name string) *corev1.Pod {
	s.t.Helper()
	pod, err := s.Cache.Client().CoreV1().Pods(sink.Namespace).Get(context.Background(), name, metav1.GetOptions{})
	ok(s.t, err)
	return pod
}

func TestNoPodIsEvictedUntilTheSessionKnowsAllVictims(t *testing.T) {
	stranger := decision(later, onN1, "guest-0")
	stranger.Evictions[0].Job = "group-stranger"
	gone := decision(later, onN1, "guest-0")
	gone.Job = "group-gone"
	for name, d := range map[string]*pb.Decision{
		"a victim that it does not have": decision(later, onN1, "guest-0", "guest-1"), "a victim of a gang that is not there": stranger,
		"a gang that is not there": gone,
	} {
		s := newStage(t, "owners")
		guest := s.pod("guest-1")
		s.Cache.DeletePod(guest)
		nothing := func(want string) {
			t.Helper()
			if got, reported := s.evictions(0), s.reported(); len(got) > 0 || s.room() != "" || reported != want {
				t.Errorf("%s: evicted %q, room %q, reported %q, expected to report %q alone", name, got, s.room(), reported, want)
			}
		}
		s.play(d)
		nothing("")
		if !s.action.Unsettled() {
			t.Errorf("%s: no other session is asked for", name)
		}
		s.play()
		nothing("")
		late := s.action.lagging[d.Job]
		late.since = late.since.Add(-lagPatience)
		s.action.lagging[d.Job] = late
		s.play()
		nothing("PlanStale of " + d.Job)
		s.play()
		nothing("")
	}
}

func TestTheNextSessionThatKnowsAllVictimsMakesRoom(t *testing.T) {
	s := newStage(t, "owners")
	guest := s.pod("guest-1")
	s.Cache.DeletePod(guest)
	s.play(decision(later, onN1, "guest-1", "guest-that-is-gone"))
	s.Cache.AddPod(guest)
	s.play()
	if got := s.evictions(1); len(got) != 1 || s.room() != roomOnN1 || len(s.action.lagging) > 0 {
		t.Errorf("evicted %q, room %q, lagging %v", got, s.room(), s.action.lagging)
	}
}

func TestADecisionThatTheEngineHasReplacedIsNotTriedAgain(t *testing.T) {
	s := newStage(t, "owners")
	guest := s.pod("guest-1")
	s.Cache.DeletePod(guest)
	s.play(decision(later, onN1, "guest-1"))
	s.Cache.AddPod(guest)
	s.play(decision(wait, nil))
	s.play()
	if got := s.evictions(0); len(got) > 0 || s.room() != "" || len(s.action.lagging) > 0 {
		t.Errorf("evicted %q, room %q, lagging %v", got, s.room(), s.action.lagging)
	}
}

func TestAGroupWithoutPodsIsAdmittedWhileItsRoomIsLeft(t *testing.T) {
	s := newStage(t, "owners", func(owner *v1beta1.PodGroup) {
		owner.Status.Phase = v1beta1.PodGroupPending
		owner.Spec.MinResources = new(corev1.ResourceList)
		*owner.Spec.MinResources = sink.GPUs(1)
	})
	s.cycle(decision(later, onN1, "guest-0"))
	if got := s.evictions(1); len(got) != 1 || s.room() != roomOnN1 {
		t.Errorf("evicted %q, room %q", got, s.room())
	}
	if phase := s.Phase(sink.Namespace, "owner"); phase != scheduling.PodGroupInqueue {
		t.Errorf("phase %q", phase)
	}
}

func TestRoomThatIsLeftAnywayIsReservedWithoutEvictions(t *testing.T) {
	s := newStage(t, "owners")
	s.cycle(decision(later, onN1))
	if s.room() != roomOnN1 || s.reported() != "" {
		t.Errorf("room %q, reported %q", s.room(), s.reported())
	}
	writes := len(s.groups().Actions())
	s.cycle(decision(later, onN1))
	for _, action := range s.groups().Actions()[writes:] {
		if action.GetVerb() == "update" {
			t.Errorf("the same room, written again: %v", action)
		}
	}
}

func TestRoomIsNoLongerReservedOnceTheGangWaitsOrRuns(t *testing.T) {
	s := newStage(t, "owners")
	s.cycle(decision(later, onN1))
	s.cycle(decision(wait, nil))
	if s.room() != "" {
		t.Errorf("the gang waits: room %q", s.room())
	}
	s.cycle(decision(later, onN1, "guest-0", "guest-1"))
	s.evictions(2)
	ok(t, s.Delete(guestPods()...))
	s.Feed.Drain()
	s.cycle(decision(start, onN1))
	if s.room() != roomOnN1 {
		t.Errorf("its pods are being bound: room %q", s.room())
	}
	s.cycle()
	if s.room() != "" || s.reported() != "" {
		t.Errorf("its pods are bound: room %q, reported %q", s.room(), s.reported())
	}
	if len(s.action.reservations.spent)+len(s.action.reservations.written) > 0 {
		t.Errorf("still remembered: %+v", s.action.reservations)
	}
}

func guestPods() (out []runtime.Object) {
	_, pods := sink.Gang("guest", "guests", 2, sink.GPUs(1))
	for _, pod := range pods {
		out = append(out, pod)
	}
	return out
}

func TestAGangThatCannotBeCompletedIsUnwound(t *testing.T) {
	s := newStage(t, "owners")
	unwinding := decision(unwinds, nil, "guest-0", "guest-7")
	unwinding.Job = "group-guest"
	s.cycle(unwinding)
	if got := s.evictions(1); !slices.Equal(got, []string{"!guest-0: tephra: the gang could not be completed"}) {
		t.Errorf("evicted %q", got)
	}
	if count, counted := s.Cache.Jobs["bench/guest"].PodGroup.Annotations[annotations.EvictionsKey]; counted {
		t.Errorf("evictions of guest: %q, expected none: no other gang wanted its room", count)
	}
}

func TestAGangThatStaysBelowItsMinimumSaysSo(t *testing.T) {
	s := newStage(t, "owners")
	leaving := decision(unwinds, nil, "guest-0")
	leaving.Job = "group-guest"
	leaving.Reason = &pb.Reason{Obstacle: pb.Obstacle_OBSTACLE_INCOMPLETE}
	s.cycle(leaving)
	if got := s.evictions(1); !slices.Equal(got, []string{"!guest-0: tephra: the gang was below its minimum for too long"}) {
		t.Errorf("evicted %q", got)
	}
}

func TestAGangThatLeavesUnhealthyDevicesSaysSo(t *testing.T) {
	s := newStage(t, "owners")
	leaving := decision(unwinds, nil, "guest-0")
	leaving.Job = "group-guest"
	leaving.Reason = &pb.Reason{Obstacle: pb.Obstacle_OBSTACLE_UNHEALTHY}
	s.cycle(leaving)
	if got := s.evictions(1); !slices.Equal(got, []string{"!guest-0: tephra: the gang leaves unhealthy devices"}) {
		t.Errorf("evicted %q", got)
	}
}
