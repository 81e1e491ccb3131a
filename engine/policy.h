// The ten questions that a cycle asks. A policy answers one of them or more. It is built from the
// config and the score, serves every cycle until one of these changes, and is const: asking twice
// about the same Snapshot and Ledger gives the same answer, and asking changes nothing. What lasts
// for one cycle (Line, Gate, VictimSelection, ReservationPlan) is made by a policy and is not const.
//
// Answers live in plugins/<name>/; siblings never include each other and are put together in
// plugins/registry.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "engine/ledger.h"
#include "engine/loss_limit.h"
#include "engine/plan.h"
#include "engine/snapshot.h"

namespace tephra {

class Workbench;

// The jobs of one cycle in the order of turns, which may depend on what earlier jobs got.
class Line {
 public:
  virtual ~Line() = default;
  // The next one; invalid: all have had their turn. The ledger says what each queue holds, without
  // what is on its way out.
  virtual JobId Next(const Ledger&) = 0;
  // The job that Next gave last had its turn. `placed`: no other job has to wait for it any more,
  // because it is placed or asks for nothing now.
  virtual void Asked(JobId, bool placed) = 0;
  // The job that Next gave last starts later, and what it takes then counts now for the turn of its
  // queue.
  virtual void Reserved(JobId) {}
  // A task of that queue was evicted for the job that Next gave last.
  virtual void Left(QueueId) = 0;
  // Jobs of the line, or of all due lines of the shape, that run at least as long as `from`
  // (WaitingLine::RunOf) would get the answer that one of them got: they need no turn.
  virtual void Close(LineId, DurationMs /*from*/) {}
  virtual void Close(ShapeId, DurationMs /*from*/) {}
  // Room has come that may give closed lines another answer.
  virtual void Reopen() {}
  // The queue gets no more reservations in this cycle, so its lines that are not due need no turn for
  // one. Invalid: all queues.
  virtual void OnlyDue(QueueId) {}
  // The job that has to be placed before that job may be asked; invalid: none.
  virtual JobId Behind(JobId) const = 0;
};

// Which pending jobs may a change help? Asked of every policy that can have a new answer for a job
// although neither a node that the job may use nor its own queue has changed.
class Wakes {
 public:
  virtual ~Wakes() = default;
  // Whether room that has grown on some node may help any pending job.
  virtual bool HelpsAnywhere(const Books&) const { return false; }
  // Whether it may help a pending job that these may be evicted or moved from now on; null: it
  // helps none. The job lacks something, and other jobs may be evicted for it.
  using Helped = std::function<bool(const JobRow&)>;
  virtual Helped HelpedBy(const Books&, const std::vector<JobId>&) const { return nullptr; }
};

// Which job is asked first?
class Order : public Wakes {
 public:
  // Among jobs of one queue. A strict total order; the last tie-break is the uid.
  virtual bool Before(const Snapshot&, JobId a, JobId b) const = 0;
  // `due.jobs` are sorted by Before. Without HasKeys there are no lines. The ledger is that of Next,
  // and its Snapshot must outlive the line.
  virtual std::unique_ptr<Line> LineUp(const Ledger&, const Due& due) const = 0;
  // Whether jobs of which nothing runs can be kept in lines: KeyOf says where each stands, and
  // neither time nor other jobs change that.
  virtual bool HasKeys(const EngineConfig&) const { return false; }
  // Of two jobs of one queue of which nothing runs, Before puts the lower key first, then the older
  // job, then the first uid. Of two of one priority too the lower key has at least the Precedence of
  // the other. REQUIRES: HasKeys.
  virtual OrderKey KeyOf(const Books&, const JobRow&) const { return {}; }
};

// May the job's queue hold `extra` beside what the ledger says it holds? The Reason if not.
// `tried` is the part of that which the job holds on trial: it is judged like extra.
class Entitlement {
 public:
  virtual ~Entitlement() = default;
  virtual std::optional<Reason> Deny(const Ledger&, JobId, const Resources& extra,
                                     const Resources& tried) const = 0;
};

// One cycle's gate.
class Gate {
 public:
  virtual ~Gate() = default;
  // Admits the job, which then counts for jobs that ask after it, or says why not.
  // REQUIRES: it is not admitted already (JobRow::admitted).
  virtual std::optional<Reason> Ask(JobId) = 0;
};

// Which jobs are admitted, to be tried at all?
class Admission {
 public:
  virtual ~Admission() = default;
  // The Snapshot must outlive the gate.
  virtual std::unique_ptr<Gate> Open(const Snapshot&) const = 0;
};

// May a task of the class run on the node, and on which slices?
//
// Node eligibility (labels, taints, refusals) is settled before Fit is asked. `limit_room` is how
// many more tasks of the class its domain limits leave there.
class Fit {
 public:
  struct Answer {
    Misfit misfit = Misfit::kFits;
    // What is missing, in per mille of the demand and summed over kinds; 0 when it fits. Orders
    // nodes by how near they come.
    std::int32_t deficit = 0;
  };
  virtual ~Fit() = default;
  virtual Answer Check(const NodeView&, const TaskClass&, std::int32_t limit_room) const = 0;
  // The slices that the scores prefer. Empty where the class needs no device.
  // REQUIRES: Check says that it fits. `draw` is the task's own random number.
  virtual Slices Choose(const NodeView&, const TaskClass&, std::uint64_t draw) const = 0;
  // An upper bound on how many tasks of the class fit on the node together; exact for a class in
  // which one container asks for devices, or none does.
  virtual std::int32_t Copies(const NodeView&, const TaskClass&, std::int32_t limit_room) const = 0;
  // Whether the node has what a task of the class holds there on these slices: charging it, or
  // other tasks since, took nothing that is not there. `limit_room` is what is left beside it.
  virtual bool Holds(const NodeView&, const TaskClass&, const Slices&,
                     std::int32_t limit_room) const = 0;
  // Every choice of slices on the node, one for each set of choices that equal devices make alike.
  virtual std::vector<Slices> Options(const NodeView&, const TaskClass&) const = 0;
};

// Points run from 0 to kMaxPoints, the 0 to 100 of Kubernetes in steps of a ten-thousandth.
using Points = std::int32_t;
constexpr Points kPoint = 10000;
constexpr Points kMaxPoints = 100 * kPoint;

// How good is the node for a task of the class that fits there, and how good a device on it?
//
// REQUIRES of an answer: it depends on the row, the class and what the score was built from alone,
// because ratings are kept until the row changes or another score is built.
class Score {
 public:
  virtual ~Score() = default;
  virtual Points Rate(const NodeView&, const TaskClass&) const = 0;
  // For a device that `ask` could take. Ties go to the lowest index.
  virtual Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk& ask, int device,
                            std::uint64_t draw) const = 0;
};

// What a gang still asks of one of its roles.
struct RoleAsk {
  std::uint32_t role = 0;
  ClassId cls;
  std::int32_t least = 0;     // of this role, to meet its minimum
  std::vector<TaskId> tasks;  // pending, by index; at least `least`
};

constexpr std::int32_t kAnyTier = std::numeric_limits<std::int32_t>::max();

// How near to each other tasks are to be.
struct Nearness {
  // As near as there is room, to each other and to running tasks of the job. `around` are the
  // nodes of these; empty: there are none.
  bool near = false;
  RankSpan around{0, 0};
  // All of them have to be in one domain of at most this tier. Below 0: there is none.
  std::int32_t highest_tier = kAnyTier;

  bool tied() const { return highest_tier != kAnyTier; }
};

// What a gang still asks of one of its groups.
struct GroupAsk : Nearness {
  std::uint32_t group = kNoGroup;            // of the job's
  std::int32_t least = 0;                    // of its roles together; at least the sum of theirs
  std::size_t first_role = 0, end_role = 0;  // in GangAsk::roles, with the groups inside it
  std::size_t end_group = 0;                 // in GangAsk::groups: behind the last group inside it
};

struct GangAsk : Nearness {  // of all of the job, or of the group
  JobId job;
  QueueId queue;
  std::uint32_t group = kNoGroup;  // of which group of the job this is all that is asked
  std::vector<RoleAsk> roles;      // those of no group, then by group: its own, then inside it
  std::vector<GroupAsk> groups;    // each before those inside it
  std::int32_t least = 0;  // of all roles together; at least the sum of theirs, or of the groups'
  KindSet without = 0;     // kinds of GPU models that roles with a choice of models are kept off
  RankSpan within;         // nodes that it may use
};

// Where do the gang's tasks go, all of them at once?
class Placer {
 public:
  enum class Outcome {
    kPlaced,      // charged to the workbench's ledger
    kImpossible,  // proven: no placement beside what is charged exists
    kUnknown,     // the search budget ended first
  };
  struct Answer {
    Outcome outcome = Outcome::kImpossible;
    std::int32_t role_short = 0;  // index into ask.roles of the role that binds
    std::int32_t steps = 0;       // of the exact search, against the budget
    bool together = false;        // each role alone has room
    bool apart = false;           // there may be room, but not within one domain that would do
    // Of a gang with groups: index into ask.groups of the one that found no place, beside as many
    // other groups; it is in no other group of the ask. role_short is then an index into the roles of
    // PartOf that. None: no group did.
    std::optional<std::size_t> group_short;
    std::int32_t groups_placed = 0;
    std::vector<Answer> inside;  // at most one: to PartOf that, if a group inside it found no place
  };
  virtual ~Placer() = default;
  // Leaves the ledger as it was unless the outcome is kPlaced. Places least tasks, no more.
  virtual Answer Place(Workbench&, const GangAsk&) const = 0;
};

// What is each queue to have, and what do its jobs ask for?
class Share {
 public:
  // Of a kind that is not shared out: no job asks for it, or it counts one GPU model of which there
  // is more than what is held and asked for by its name. A job with a choice of models may take a
  // model that no other job wants.
  static constexpr std::int64_t kNotShared = -1;
  // By QueueId, each with the queues under it.
  struct Answer {
    std::vector<Resources> share;
    // That, or its deserved amount if that is more: what it holds within it is not evicted by
    // share.
    std::vector<Resources> own;
    // The same, but of its deserved amount only its part of what the queues above it deserve. It
    // protects the queue from queues that are not beside it.
    std::vector<Resources> own_above;
    std::vector<Resources> demand;  // what they hold and ask for
  };
  virtual ~Share() = default;
  virtual Answer Of(const Books&) const = 0;
};

// What does it cost to evict the task? Lower is better; none: it is to be left alone now.
//
// REQUIRES of an answer: 0 to kMostVictimCost.
constexpr std::int64_t kMostVictimCost = std::int64_t{1} << 40;
class Victims {
 public:
  virtual ~Victims() = default;
  virtual std::optional<std::int64_t> Cost(const Snapshot&, const Share::Answer&,
                                           TaskId victim) const = 0;
};

// How much work may evictions for the share of a queue lose?
class EvictionWorth {
 public:
  virtual ~EvictionWorth() = default;
  // For a job that asks for so much. `in_quota`: with that its queue stays within its deserved or guaranteed amount.
  virtual LossLimit LimitFor(const Snapshot&, JobId, const Resources& asked, bool in_quota) const = 0;
  // What the running task loses if it is evicted at that time, in GPU-milliseconds.
  virtual std::int64_t LossOf(const Snapshot&, TaskId, TimeMs at) const = 0;
};

// One cycle's evictions.
class VictimSelection {
 public:
  enum class Outcome {
    kPlaced,      // the gang is charged to the workbench's ledger, and its victims are freed there
    kImpossible,  // proven: it does not fit, whichever tasks are evicted, or none may be
    kUnknown,     // the search budget ended before anything was found
  };
  struct Answer {
    Outcome outcome = Outcome::kImpossible;
    std::vector<TaskId> victims;      // none: what is being released already is enough
    std::vector<Placement> moves{};   // of victims that go on elsewhere, charged there
    std::int64_t gain = 0, cost = 0;  // of moves: what the gang has of it, and they lose
    std::int32_t gangs = 0;           // of which as many are evicted whole
    bool fewest = true;               // proven; false: the search budget ended first
    std::int32_t steps = 0;           // of the search, against the budget
    // Tasks exist that could be evicted, if not for this gang.
    bool any_candidate = true;
    // Where the gang's own queue would pass its share, so that nothing is evicted for it by share:
    // that queue, and the kind, what it is to have, holds without what is being released, and
    // needs.
    QueueId over;
    Kind binding = kGpu;
    std::int64_t share = 0, holds = 0, asked = 0;
    std::optional<ExcessLoss> excess;  // of victims that were ruled out; the one that may be allowed first
  };
  virtual ~VictimSelection() = default;
  // The plan places tasks of the job, or takes what is left of it, so it is no victim.
  virtual void Placed(JobId) = 0;
  // The plan evicts the task, which MakeRoom may have answered.
  virtual void Evicted(TaskId) {}
  virtual Answer MakeRoom(const GangAsk&) = 0;
  // False: no eviction helps the job, which asks for at least `least`. Tasks that terminate already are
  // not considered: their room alone may be enough. Much cheaper than MakeRoom.
  virtual bool MayHelp(JobId, const Resources& /*least*/) { return true; }
};

// Which tasks have to go so that the gang fits: the fewest, and of these the cheapest?
//
// Wherever room has grown, victims beside it may make enough of it. So HelpsAnywhere makes loose jobs
// due, and lines as far as MayHelp says (Due::evicts).
class Eviction : public Wakes {
 public:
  // False: no task is evicted for any gang.
  virtual bool Enabled(const EngineConfig&) const = 0;
  // False: no task could be evicted for the gang, and none is on its way out.
  virtual bool Possible(const Snapshot&, const GangAsk&) const = 0;
  // `later` has begun, and outlives the answer.
  virtual std::unique_ptr<VictimSelection> Begin(Workbench& later) const = 0;
};

// What a reservation plan may use again in the next cycle. Dropping it changes no decision.
class ReservationMemory {
 public:
  virtual ~ReservationMemory() = default;
};

// The reservations of one cycle: when which pending job starts, given when running tasks are
// estimated to end.
class ReservationPlan {
 public:
  struct Answer {
    Reservation reservation;  // at 0: there is none
    Untimed untimed = Untimed::kNotAsked;
  };
  virtual ~ReservationPlan() = default;
  // The gang has been placed on the ledger of now since the mark, to start at once. Where that
  // would delay a reservation it is placed elsewhere instead. The job that would be late if there
  // is no such place, and the ledger is as it was at the mark; invalid: none.
  virtual JobId Delays(const GangAsk&, std::size_t mark) = 0;
  // The earliest start for a gang that does not start now, which delays no
  // reservation. From then on it has one, too.
  virtual Answer Reserve(const GangAsk&) = 0;
  // How long a task may run at most that takes at least so much of the node and starts there now. If it
  // runs longer, it delays a reservation for sure. kAnyRun: that is not known of any.
  virtual DurationMs MostRun(const TaskNeed&, NodeId) { return WaitingLine::kAnyRun; }
  // What is reserved for it; null: nothing.
  virtual const Reservation* ReservationOf(JobId) const = 0;
  // The jobs whose reservation has moved since the last plan, to another place, or to a time at
  // which there is one.
  virtual std::vector<JobId> Moved() const = 0;
  // The jobs whose reserved start is the earliest as of this plan, in the order of their turns.
  virtual std::vector<JobId> Confirmed() const { return {}; }
  // The plan decided so, and it is charged to the ledger of now.
  virtual void Follow(const Decision&) = 0;
};

// Which jobs have a reserved start, so that other jobs do not go ahead of them forever?
class Reservations : public Wakes {
 public:
  // Whether each pending job has a reserved start, so that an end at its expected time changes
  // none.
  virtual bool ReservesAll() const = 0;
  // The benches have begun and outlive the reservation plan, which tries things on `ahead`. `due` and
  // `standing`: as in Cycle. `memory`: null, or what an earlier plan of this policy left there. It
  // outlives the plan.
  virtual std::unique_ptr<ReservationPlan> Begin(Workbench& now, Workbench& ahead, const Due& due,
                                                 const std::vector<JobId>& standing,
                                                 std::unique_ptr<ReservationMemory>& memory) const = 0;
  // Whether the job is to have a reservation, after `before` in all and `in_queue` of its queue.
  virtual bool Reserves(std::int32_t before, std::int32_t in_queue) const = 0;
};

struct Policies {
  std::shared_ptr<const Order> order;
  std::unique_ptr<Admission> admission;  // null: every pending job is admitted
  std::unique_ptr<Entitlement> entitlement;
  std::shared_ptr<const Score> score;
  std::unique_ptr<Fit> fit;
  std::unique_ptr<Placer> placer;
  std::unique_ptr<Share> share;
  std::unique_ptr<Victims> victims;
  std::unique_ptr<EvictionWorth> worth;
  std::unique_ptr<Eviction> eviction;
  // Which tasks have to move, and where to, so that the gang fits beside them. What it gains and
  // they lose is in thousandths of GPU-seconds.
  std::unique_ptr<Eviction> relocation;
  std::unique_ptr<Reservations> reservations;  // null: nothing is reserved
};

}  // namespace tephra
