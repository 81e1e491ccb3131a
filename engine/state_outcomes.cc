// What became of plans: assumed, given up in time, refused, stale, or failed to bind.
#include <algorithm>

#include "engine/state.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// By a plan that no fact has confirmed; an empty name stands for any node.
bool AssumedOn(const Books& books, const TaskRow& task, const std::string& node) {
  return task.phase == TaskPhase::kAssumed &&
         (node.empty() || books.hardware.spec(task.node).name == node);
}

}  // namespace

void State::Expire(TimeMs now) {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  table_.BeginCycle(now);
  AdvanceUsage(now);
  assumptions_.ForgiveRefusals(table_, now);
  table_.ExpireReservations(now);
  table_.ExpireTerminations(now);
  table_.FollowTimeline(now);
  rows().starts.Advance(now);
  auto& moves = rows().moves;
  while (!moves.empty() && now - moves.front().first >= kMovesWindowMs) moves.pop_front();
  table_.wake_ups().Advance(rows(), now);
  assumptions_.Expire(table_, now);
}

void State::Assume(const Plan& plan) {
  assumptions_.Assume(table_, plan);
  const auto ask = [&](JobId id) {
    const Standing& standing = StandingOf(books(), id);
    if (!standing.asked || !WaitEnds(standing.verdict, standing.reason->obstacle)) return;
    const auto interval = rows().starts.Found(id);
    JobRow& job = rows().jobs[id.index()];
    if (interval && job.waits_since == 0) job.first_interval = *interval;
  };
  for (const JobId id : rows().starts.TakeFresh()) {
    if (rows().jobs[id.index()].start_awaited) ask(id);
  }
  // The first answer to a job may have been about its pods or its queue.
  for (const Decision& decision : plan.decisions) {
    if (decision.part == Part::kMinimum && rows().jobs[decision.job.index()].start_awaited) {
      ask(decision.job);
    }
  }
}

// `of` says what names the role.
absl::StatusOr<const RoleRow*> State::FindRole(const char* of, JobId id,
                                               const std::string& name) const {
  const JobRow& job = books().jobs[id.index()];
  for (const RoleRow& role : job.roles) {
    if (role.name == name) return &role;
  }
  return absl::NotFoundError(std::string(of) + ": job \"" + job.name + "\" has no role \"" + name +
                             "\"");
}

absl::Status State::On(const PlacementRefused& fact) {
  const JobId id = FindJob(fact.job);
  if (!id.valid()) return absl::OkStatus();  // the job went meanwhile
  TEPHRA_ASSIGN_OR_RETURN(const RoleRow* role, FindRole("refusal", id, fact.role));
  assumptions_.Refuse(table_, role->cls, fact.node);
  // Refused was what the latest plan that put the role there decided last, or all of it.
  std::uint64_t plan = 0;
  bool elastic = false;
  for (TaskId task : role->tasks) {
    const TaskRow& row = rows().tasks[task.index()];
    if (!AssumedOn(books(), row, fact.node) || row.assumed_by < plan) continue;
    const bool here_elastic = fact.elastic || row.assumed_part == Part::kElastic;
    elastic = here_elastic && (elastic || row.assumed_by > plan);
    plan = row.assumed_by;
  }
  if (plan > 0) assumptions_.TakeBack(table_, id, plan, elastic);
  ++rows().news;
  table_.MarkDue(id);
  return absl::OkStatus();
}

absl::Status State::On(const PlanStale& fact) {
  const JobId id = FindJob(fact.job);
  if (!id.valid()) return absl::OkStatus();
  std::uint64_t plan = 0;
  for (const RoleRow& role : rows().jobs[id.index()].roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = rows().tasks[task.index()];
      if (row.phase == TaskPhase::kAssumed) plan = std::max(plan, row.assumed_by);
    }
  }
  if (plan > 0) assumptions_.TakeBack(table_, id, plan, fact.elastic);
  if (!fact.elastic && rows().jobs[id.index()].waits_for_victims()) {
    // No task was evicted for it either.
    rows().jobs[id.index()].made_room_at = 0;
    table_.DropReservation(id);
    const std::vector<TaskId> releasing = rows().releasing;
    for (const TaskId task : releasing) {
      const TaskRow& row = rows().tasks[task.index()];
      if (!row.evicting || row.evicted_for != id) continue;
      table_.SetPhase(task, TaskPhase::kRunning, row.node, row.slices);
    }
    table_.wake_ups().capacity().Anywhere();
  }
  table_.MarkDue(id);
  return absl::OkStatus();
}

absl::Status State::On(const BindFailed& fact) {
  const JobId id = FindJob(fact.job);
  if (!id.valid()) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(const RoleRow* role, FindRole("failed binding", id, fact.role));
  if (fact.index < 0 || static_cast<std::size_t>(fact.index) >= role->tasks.size()) {
    return absl::NotFoundError("failed binding: index: " + std::to_string(fact.index) +
                               ", role \"" + fact.role + "\" has " +
                               std::to_string(role->tasks.size()) + " tasks");
  }
  const TaskId task = role->tasks[static_cast<std::size_t>(fact.index)];
  const TaskRow& row = rows().tasks[task.index()];
  const bool assumed = AssumedOn(books(), row, fact.node);
  assumptions_.RefuseForNow(table_, assumed ? row.cls : role->cls, fact.node);
  ++rows().news;
  table_.MarkDue(id);
  if (!assumed) return absl::OkStatus();
  table_.Unplace(task);
  JobRow& job = rows().jobs[id.index()];
  job.broken = !job.satisfied();
  rows().lines.Follow(rows(), id);
  return absl::OkStatus();
}

}  // namespace tephra
