// Snapshot: an instant of the State, and all that a policy may look at. Never written: State
// refuses to change while one lives (docs/adr/0001).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/event.h"
#include "engine/inqueue.h"
#include "engine/mask.h"
#include "engine/occupancy.h"
#include "engine/plan.h"
#include "engine/recent_pods.h"
#include "engine/run_history.h"
#include "engine/timeline.h"
#include "engine/usage.h"
#include "engine/waiting_lines.h"
#include "topology/base/ids.h"

namespace tephra {

struct TaskRow {
  std::string uid;  // of the pod; empty until one exists
  JobId job;        // invalid for a foreign pod
  std::uint32_t role = 0;
  std::int32_t index = 0;
  ClassId cls;
  TaskPhase phase = TaskPhase::kPending;
  NodeId node;  // valid while it holds room or is bound to a node not known yet
  Slices slices;
  std::uint64_t version = 0;
  std::vector<std::string> disruption_budgets;  // names
  // Of what a plan assumed of it: when, the sequence number of the plan, as which part of its gang.
  TimeMs assumed_at = 0;
  std::uint64_t assumed_by = 0;
  Part assumed_part = Part::kMinimum;
  bool evicting = false;    // releasing because a plan said so, and no fact has confirmed it yet
  bool evicted = false;     // a plan evicted it, and it has not gone yet
  JobId evicted_for;        // the job it was evicted for; invalid: that job is gone
  TimeMs started = 0;       // since when it runs
  TimeMs checkpointed = 0;  // when it last saved what it has done; 0: never
  TimeMs expected_end = 0;  // as it stands in Books::timeline; 0: not there
  // If its job was removed while it ran: the job's run-time estimate.
  DurationMs estimated_runtime_ms = 0;
  bool preemptible = true;               // as far as it goes itself: its job may say otherwise
  std::optional<std::int32_t> priority;  // its own, where that is not its job's
  TaskId reserved_row;                   // while it moves: the row that keeps its room
  std::uint32_t place_on_node = 0;       // index in Books::tasks_on of its node
  std::uint32_t place_releasing = 0;     // index in Books::releasing
};

// Whether a task in this phase takes room on its node.
constexpr bool HoldsRoom(TaskPhase phase) {
  return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
         phase == TaskPhase::kReleasing || phase == TaskPhase::kHeld ||
         phase == TaskPhase::kReserved;
}

// The reserved room of the task, if it has any: a row of its own, or the task's.
// REQUIRES: the task asks to run.
inline const TaskRow* ReservedRoomOf(const std::vector<TaskRow>& tasks, const TaskRow& task) {
  if (task.reserved_row.valid()) return &tasks[task.reserved_row.index()];
  return task.phase == TaskPhase::kHeld ? &task : nullptr;
}

// What moves_per_hour counts.
constexpr DurationMs kMovesWindowMs = 60 * 60 * kSecondMs;

constexpr std::uint32_t kNoGroup = 0xffffffffu;

struct RoleRow {
  std::string name;
  std::int32_t min = 0;
  std::uint32_t group = kNoGroup;  // index in JobRow::groups
  ClassId cls;
  std::vector<TaskId> tasks;  // by index
  std::int32_t pending = 0;
  std::int32_t held = 0;
  std::int32_t counted = 0;  // assumed, running or succeeded: towards the minimum
};

struct GroupRow {
  GroupSpec spec;
  std::vector<std::uint32_t> roles;  // indexes in JobRow::roles
};

// What was last said of a gang.
struct Standing {
  bool asked = false;
  Verdict verdict = Verdict::kWait;
  Boxed<Reason> reason;
  TimeMs since = 0;  // when the verdict or its obstacle last changed
};

// The reserved start of a pending gang, by the last plan that had a decision about it.
struct Reservation {
  TimeMs at = 0;           // when it starts; 0: nothing is reserved
  std::int32_t tasks = 0;  // how many of its tasks start then
  // Where it has room then, beside all other reservations; empty if counts alone prove that
  // it has.
  std::vector<Placement> where;
};

struct JobRow {
  std::string uid;
  std::string name;
  std::string queue_name;
  QueueId queue;
  std::string user;
  std::int32_t priority = 0;
  TimeMs created = 0;
  std::int32_t min_member = 0;
  bool pods_exist = false;
  bool preemptible = true;
  DurationMs min_run_ms = 0;
  DurationMs estimated_runtime_ms = 0;  // by its owner, or by earlier runs; 0: not known
  Reservation reservation;
  bool movable = false;
  bool evicts = true;  // other jobs may be evicted for it
  Locality locality;
  std::int32_t reserved_rows = 0;            // reservations of tasks of it that move
  std::int32_t evictions = 0;                // how often plans evicted tasks of it
  std::vector<RecordedReservation> to_hold;  // came with the job; each until its task asks to run
  std::uint64_t made_room_at = 0;  // Books::news when a plan last evicted tasks for it; 0: never
  // A binding failed and left it below its minimum; until it is whole again, or all gone.
  bool broken = false;
  std::vector<RoleRow> roles;
  std::vector<GroupRow> groups;
  std::uint64_t version = 0;
  Standing standing;
  bool live = false;
  bool due = false;  // to be asked in the next cycle
  bool quarantined = false;
  std::uint32_t waiting_at = kNotWaiting;  // index in State's list of waiting jobs
  std::uint32_t placed_at = kNotPlaced;    // index in Books::placed of its queue

  static constexpr std::uint32_t kNotWaiting = 0xffffffffu;
  static constexpr std::uint32_t kNotPlaced = 0xffffffffu;

  std::int32_t pending() const {
    std::int32_t sum = 0;
    for (const RoleRow& role : roles) sum += role.pending;
    return sum;
  }
  std::int32_t held() const {
    std::int32_t sum = 0;
    for (const RoleRow& role : roles) sum += role.held;
    return sum;
  }
  bool keeps_room() const { return reserved_rows > 0 || held() > 0; }
  bool waits() const { return pending() > 0 || held() > 0; }
  std::int32_t counted() const {
    std::int32_t sum = 0;
    for (const RoleRow& role : roles) sum += role.counted;
    return sum;
  }
  // If there is an enqueue gate: it is past it. A job that loses all that it held is not.
  bool admitted() const {
    return counted() > 0 || keeps_room() ||
           (standing.asked && BehindGate(standing.reason->obstacle));
  }
  std::int32_t counted(const GroupRow& group) const {
    std::int32_t sum = 0;
    for (const std::uint32_t r : group.roles) sum += roles[r].counted;
    return sum;
  }
  // Whether the minimums of the group count: of an elastic one once it has begun.
  bool takes(const GroupRow& group) const { return !group.spec.elastic || counted(group) > 0; }
  // The role's minimum, where it counts.
  std::int32_t least(const RoleRow& role) const {
    return role.group == kNoGroup || takes(groups[role.group]) ? role.min : 0;
  }
  // Every minimum is met by what is placed already.
  bool satisfied() const {
    for (const RoleRow& role : roles) {
      if (role.counted < role.min && role.counted < least(role)) return false;
    }
    for (const GroupRow& group : groups) {
      if (takes(group) && counted(group) < group.spec.min_member) return false;
    }
    return counted() >= min_member;
  }
};

// Tables that State owns and a Snapshot shows.
struct Books {
  ResourceKinds kinds;
  Hardware hardware;
  QueueTree queues;
  ClassTable classes;
  Occupancy occupancy;
  std::vector<JobRow> jobs;
  std::vector<TaskRow> tasks;
  WaitingLines lines;                      // of those in queues that are first in, first out
  std::vector<JobId> waiting;              // jobs with a pending or held task, in no order
  std::vector<std::vector<JobId>> placed;  // by QueueId: jobs of which a task counts, in no order
  std::vector<std::vector<TaskId>> tasks_on;  // by NodeId: the tasks that hold room, in no order
  std::vector<TaskId> releasing;              // in no order
  Timeline timeline;
  RunHistory runs;
  std::unordered_set<std::uint64_t> refused;  // class and node, see RefusalKey
  // Demand of pending tasks, by QueueId, each its own. How much memory whole devices have shows
  // only when they are chosen.
  struct Demand {
    Resources amount;
    std::int64_t whole_gpus = 0;  // of the GPUs, those asked for whole

    bool operator==(const Demand&) const = default;
  };
  std::vector<Demand> queue_pending;
  // By QueueId: how many jobs of each priority are in it.
  std::vector<std::map<std::int32_t, std::int32_t>> queue_priorities;
  Usage usage;      // what queues and users held before; empty while it does not count
  Inqueue inqueue;  // empty while there is no enqueue gate
  RecentPods recent_pods;
  Masks masks;
  std::int32_t movable_jobs = 0;
  std::deque<std::pair<TimeMs, std::int32_t>> moves;       // of the last hour: when, how many tasks
  std::map<std::string, std::int32_t> disruption_budgets;  // how many evictions each allows
  EngineConfig config;
  std::uint64_t config_version = 0;
  std::uint64_t version = 0;  // grows with every fact
  std::uint64_t news = 0;     // grows with every change that no plan brought about

  Facts facts() const { return {hardware, queues, classes}; }
};

constexpr std::uint64_t RefusalKey(ClassId cls, NodeId node) {
  return std::uint64_t{cls.value} << 32 | node.value;
}

// How many tasks may be moved now. What is only proposed is judged as if none had moved.
inline std::int32_t MovesLeft(const Books& books) {
  std::int32_t left = books.config.moves_per_hour();
  if (!books.config.moves_tasks()) return left;
  for (const auto& [at, tasks] : books.moves) left -= tasks;
  return left;
}

class Snapshot {
 public:
  Snapshot(const Books& books, TimeMs now, std::int32_t* living)
      : books_(&books), now_(now), living_(living) {
    ++*living_;
  }
  ~Snapshot() {
    if (living_ != nullptr) --*living_;
  }
  Snapshot(Snapshot&& other) noexcept
      : books_(other.books_), now_(other.now_), living_(std::exchange(other.living_, nullptr)) {}
  Snapshot& operator=(Snapshot&&) = delete;

  TimeMs now() const { return now_; }
  const Books& books() const { return *books_; }
  Facts facts() const { return books_->facts(); }
  const Hardware& hardware() const { return books_->hardware; }
  const QueueTree& queues() const { return books_->queues; }
  const ClassTable& classes() const { return books_->classes; }
  const Occupancy& occupancy() const { return books_->occupancy; }
  const JobRow& job(JobId id) const { return books_->jobs[id.index()]; }
  const TaskRow& task(TaskId id) const { return books_->tasks[id.index()]; }
  const TaskClass& cls(ClassId id) const { return books_->classes[id]; }
  const EngineConfig& config() const { return books_->config; }
  std::uint64_t version() const { return books_->version; }

 private:
  const Books* books_;
  TimeMs now_;
  std::int32_t* living_;
};

}  // namespace tephra
