// Rows: what the engine knows of a job, its roles and groups, and of a task. TaskTable changes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.h"
#include "engine/plan.h"
#include "engine/reservation.h"
#include "engine/start_interval.h"
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
  Boxed<std::vector<std::string>> disruption_budgets;  // names
  // Of what a plan assumed of it: when, the sequence number of the plan, as which part of its gang.
  TimeMs assumed_at = 0;
  std::uint64_t assumed_by = 0;
  Part assumed_part = Part::kMinimum;
  TimeMs terminates_by = 0;  // kReleasing: when its grace period ends; 0: not known
  bool stuck = false;       // kReleasing, for so long after its grace period that its end is not expected
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
  TaskId reserved_row;                   // the row that keeps room for it; invalid: none
  std::uint32_t place_on_node = 0;       // index in Books::tasks_on of its node
  std::uint32_t place_releasing = 0;     // index in Books::releasing

  // Whether its room is expected to be free soon.
  bool leaves() const { return phase == TaskPhase::kReleasing && !stuck; }
};

// Whether a task in this phase takes room on its node.
constexpr bool HoldsRoom(TaskPhase phase) {
  return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
         phase == TaskPhase::kReleasing || phase == TaskPhase::kReserved;
}

constexpr std::uint32_t kNoGroup = 0xffffffffu;

struct RoleRow {
  std::string name;
  std::int32_t min = 0;
  std::uint32_t group = kNoGroup;  // index in JobRow::groups, of the innermost group
  ClassId cls;
  std::vector<TaskId> tasks;  // by index
  std::int32_t pending = 0;
  std::int32_t counted = 0;  // assumed, running or succeeded: towards the minimum
};

struct GroupRow {
  GroupSpec spec;
  std::vector<std::uint32_t> roles;   // indexes in JobRow::roles, without those of groups inside it
  std::uint32_t parent = kNoGroup;    // the group that it is in
  std::vector<std::uint32_t> groups{};  // those right inside it
};

// What was last said of a gang.
struct Standing {
  bool asked = false;
  Verdict verdict = Verdict::kWait;
  Boxed<Reason> reason;
  TimeMs since = 0;  // when the verdict or its obstacle last changed
  std::uint64_t plan = 0;  // the number of the plan that said so
};

struct JobRow {
  std::string uid;
  std::string name;
  Boxed<std::string> queue_name, user, program;  // shared by all jobs that have the same
  QueueId queue;
  std::int32_t priority = 0;
  TimeMs created = 0;
  static constexpr TimeMs kRuns = -1;
  TimeMs waits_since = 0;  // when it last fell below its minimum; kRuns: it has it; 0: it never had it
  TimeMs evictions_from = 0;  // until then victims would lose too much work (ExcessLoss)
  std::int32_t min_member = 0;
  bool pods_exist = false;
  bool preemptible = true;
  bool movable = false;
  bool restarts_by_task = false;  // as in JobSpec
  bool evicts = true;  // other jobs may be evicted for it
  // Until then no other job is, because it has not waited for the eviction delay of its queue; 0: it has.
  TimeMs delayed_until = 0;
  std::int32_t protected_tasks = 0;  // tasks that are not preemptible by themselves
  DurationMs min_run_ms = 0;
  DurationMs checkpoint_interval_ms = 0;
  DurationMs stated_runtime_ms = 0;     // by its owner; 0: not stated
  DurationMs estimated_runtime_ms = 0;  // stated, or from earlier jobs; 0: not known
  Boxed<Reservation> reservation;
  Boxed<Locality> locality;
  std::int32_t evictions = 0;                // how often plans evicted tasks of it
  bool live = false;
  bool due = false;  // to be asked in the next cycle
  bool quarantined = false;
  // A binding failed and left it below its minimum; until it is whole again, or all gone.
  bool broken = false;
  std::uint64_t made_room_at = 0;  // Books::news when a plan last evicted tasks for it; 0: never
  std::vector<RoleRow> roles;
  std::vector<GroupRow> groups;
  std::uint64_t version = 0;
  Standing standing;
  bool start_awaited = false;  // it is in Books::starts
  StartInterval first_interval;  // when it was first found pending; not known: it needed none
  std::uint32_t waiting_at = kNotWaiting;  // index in State's list of waiting jobs
  std::uint32_t placed_at = kNotPlaced;    // index in Books::placed of its queue

  static constexpr std::uint32_t kNotWaiting = 0xffffffffu;
  static constexpr std::uint32_t kNotPlaced = 0xffffffffu;

  std::int32_t pending() const {
    std::int32_t sum = 0;
    for (const RoleRow& role : roles) sum += role.pending;
    return sum;
  }
  bool may_evict() const { return evicts && delayed_until == 0; }
  // The job or a part of it is not preemptible.
  bool is_protected() const { return !preemptible || protected_tasks > 0; }
  bool keeps_room() const { return reservation->keeps_room(); }
  bool waits_for_victims() const { return reservation->kind == Reservation::Kind::kVictims; }
  bool waits() const { return pending() > 0; }
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
  // Whether the group is `outer` or inside it. All are inside kNoGroup.
  bool Inside(std::uint32_t group, std::uint32_t outer) const {
    while (group != outer && group != kNoGroup) group = groups[group].parent;
    return group == outer;
  }
  // Every minimum is met by what is placed already (GangCounts).
  bool satisfied() const;
};

}  // namespace tephra
