// What a plan brings about: it counts as done until facts confirm it, outcomes deny it, or the
// time for either is over.
#include <algorithm>

#include "plugins/framework/state.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

bool AnyLess(const Resources& now, const Resources& before) {
  return Resources::Max(now, before) != now;
}

// What is used, and what those past the enqueue gate lack. Where it becomes less others may be let
// in: as when room is set aside on devices that some have yet to leave.
Resources TakenOrLacked(const Books& books) {
  Resources taken = books.hardware.total();
  return taken.Add(books.occupancy.free_total(), -1).Add(books.inqueue.missing());
}

}  // namespace

void State::Assume(const Plan& plan) {
  ++plans_;
  Resources taken = TakenOrLacked(books_);
  std::vector<JobId> outside;  // the gate had not let them in
  const auto mark = [&](TaskId id, Part part) {
    TaskRow& task = books_.tasks[id.index()];
    task.assumed_at = plan.now;
    task.assumed_by = plans_;
    task.assumed_part = part;
    assumptions_.emplace_back(plan.now, id);
    FollowTimeline(id);
  };
  for (const Decision& decision : plan.decisions) {
    const bool asks = decision.part == Part::kMinimum;
    if (asks && !books_.jobs[decision.job.index()].let_in()) outside.push_back(decision.job);
    if (asks) {
      LiftHolds(decision.job);
      LeaveBerths(decision.job);
      Promise& promise = books_.jobs[decision.job.index()].promise;
      promise = {};
      if (decision.verdict == Verdict::kReserve) {
        promise = {decision.reason->start_ms, decision.reserved_tasks, decision.reserved};
      }
    }
    const bool at_once = decision.verdict != Verdict::kStartAfterEviction;
    for (const Placement& placement : decision.placements) {
      SetPhase(placement.task, at_once ? TaskPhase::kAssumed : TaskPhase::kHeld, placement.node,
               placement.slices);
      if (at_once) mark(placement.task, decision.part);
    }
    // A gang evicts its own tasks to give up what a failed binding left of it.
    if (at_once && !decision.evictions.empty()) books_.jobs[decision.job.index()].broken = false;
    if (!at_once && !decision.evictions.empty()) {
      books_.jobs[decision.job.index()].relieved_at = books_.news;
    }
    JobId victim;
    for (TaskId id : decision.evictions) {
      const TaskRow& task = books_.tasks[id.index()];
      if (!at_once && task.job.valid() && task.job != victim) {
        victim = task.job;
        ++books_.jobs[victim.index()].evictions;
      }
      SetPhase(id, TaskPhase::kReleasing, task.node, task.slices);
      books_.tasks[id.index()].evicting = true;
      books_.tasks[id.index()].evicted_for = decision.job;
      mark(id, decision.part);
    }
    for (const Placement& move : decision.moves) KeepBerth(move);
    if (!decision.moves.empty()) {
      books_.moves.emplace_back(plan.now, static_cast<std::int32_t>(decision.moves.size()));
    }
    if (decision.part == Part::kElastic && decision.verdict == Verdict::kWait) continue;
    books_.inqueue.Touch(decision.job);
    Standing& standing = books_.jobs[decision.job.index()].standing;
    if (!standing.asked || standing.verdict != decision.verdict ||
        standing.reason->obstacle != decision.reason->obstacle ||
        standing.reason->binding != decision.reason->binding) {
      standing.since = plan.now;
    }
    standing.asked = true;
    standing.verdict = decision.verdict;
    standing.reason = decision.reason;
  }
  for (JobId id : plan.dropped) books_.jobs[id.index()].quarantined = true;
  if (!plan.dropped.empty()) growth_.Anywhere();  // what they would have taken is free for others
  if (books_.inqueue.on()) {
    const bool shrinks = books_.inqueue.Follow(books_);
    // Whoever was not let in was judged beside all that were.
    for (const JobId id : outside) {
      const JobRow& job = books_.jobs[id.index()];
      if (job.let_in()) taken.Add(ClaimOf(books_, job).minimum);
    }
    if (shrinks || AnyLess(TakenOrLacked(books_), taken)) growth_.Anywhere();
  }
  if (plan.consolidate_at > 0) {
    consolidate_at_ =
        consolidate_at_ > 0 ? std::min(consolidate_at_, plan.consolidate_at) : plan.consolidate_at;
  }
  if (!plan.decisions.empty()) ++books_.version;
  books_.usage.Apply();
}

void State::Expire(TimeMs now) {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  cycle_time_ = now;
  AdvanceUsage(now);
  ForgiveRefusals(now);
  ExpireBerths(now);
  FollowTimeline(now);
  while (!books_.moves.empty() && now - books_.moves.front().first >= kMovesWindowMs) {
    books_.moves.pop_front();
  }
  if (consolidate_at_ > 0 && now >= consolidate_at_) {
    consolidate_at_ = 0;
    growth_.Anywhere();
  }
  while (!ripening_.empty() && ripening_.begin()->first <= now) {
    MarkEvictable(ripening_.begin()->second);
    ripening_.erase(ripening_.begin());
  }
  std::vector<JobId> kept;  // gangs that are broken, or whose evictions were not carried out
  while (!assumptions_.empty()) {
    const auto [at, id] = assumptions_.front();
    const TaskRow& task = books_.tasks[id.index()];
    const bool open = (task.phase == TaskPhase::kAssumed || task.evicting) && task.assumed_at == at;
    if (open && now - at < books_.config.assume_timeout_ms) break;
    assumptions_.pop_front();
    if (!open) continue;
    const JobId job = task.job;
    if (task.evicting) {
      books_.jobs[task.evicted_for.index()].relieved_at = 0;
      SetPhase(id, TaskPhase::kRunning, task.node, task.slices);
      growth_.Anywhere();  // whoever waits for its room waits in vain
      if (job.valid()) kept.push_back(job);
    } else {
      // Halfway through it may seem whole.
      if (job.valid() && books_.jobs[job.index()].broken) kept.push_back(job);
      SetPhase(id, Unplaced(task), NodeId(), {});
    }
    if (job.valid()) MarkDue(job);
    ++books_.version;
  }
  // Each is as broken as before, unless what else was assumed of it, and still is, makes it whole.
  for (const JobId job : kept) {
    books_.jobs[job.index()].broken = !books_.jobs[job.index()].satisfied();
  }
  const Resources lacked = books_.inqueue.missing();
  const bool shrinks = books_.inqueue.Follow(books_);
  if (shrinks || AnyLess(books_.inqueue.missing(), lacked)) growth_.Anywhere();
  books_.usage.Apply();
}

// --- outcomes ------------------------------------------------------------------------------

// `of` says what names the role.
absl::StatusOr<const RoleRow*> State::FindRole(const char* of, JobId id,
                                               const std::string& name) const {
  const JobRow& job = books_.jobs[id.index()];
  for (const RoleRow& role : job.roles) {
    if (role.name == name) return &role;
  }
  return absl::NotFoundError(std::string(of) + ": job \"" + job.name + "\" has no role \"" + name +
                             "\"");
}

// By a plan that no fact has confirmed; an empty name stands for any node.
bool State::AssumedOn(const TaskRow& task, const std::string& node) const {
  return task.phase == TaskPhase::kAssumed &&
         (node.empty() || books_.hardware.spec(task.node).name == node);
}

// Keeps the class off the node until one of them changes.
void State::Refuse(ClassId cls, const std::string& name) {
  const NodeId node = books_.hardware.Find(name);
  if (!node.valid()) return;
  const std::uint64_t key = RefusalKey(cls, node);
  books_.refused.insert(key);
  books_.occupancy.Touch(node);
  std::erase_if(failed_binds_, [&](const auto& failed) { return failed.second == key; });
}

// No fact tells when what was in the way of a binding is gone, so the node is tried again once an
// assumption would have been given up.
void State::RefuseForNow(ClassId cls, const std::string& name) {
  const NodeId node = books_.hardware.Find(name);
  if (!node.valid()) return;
  Refuse(cls, name);
  failed_binds_.emplace_back(cycle_time_, RefusalKey(cls, node));
}

void State::ForgiveRefusals(TimeMs now) {
  while (!failed_binds_.empty() &&
         now - failed_binds_.front().first >= books_.config.assume_timeout_ms) {
    const std::uint64_t key = failed_binds_.front().second;
    failed_binds_.pop_front();
    if (books_.refused.erase(key) == 0) continue;
    books_.occupancy.Touch(NodeId(static_cast<std::uint32_t>(key)));
    growth_.Anywhere();
    ++books_.version;
  }
}

// Takes back what that plan assumed for the job.
void State::TakeBack(JobId id, std::uint64_t plan, bool elastic_only) {
  for (const RoleRow& role : books_.jobs[id.index()].roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = books_.tasks[task.index()];
      if (row.phase != TaskPhase::kAssumed || row.assumed_by != plan) continue;
      if (elastic_only && row.assumed_part != Part::kElastic) continue;
      SetPhase(task, Unplaced(row), NodeId(), {});
    }
  }
}

absl::Status State::On(const PlacementRefused& fact) {
  const JobId id = FindJob(fact.job);
  if (!id.valid()) return absl::OkStatus();  // the job went meanwhile
  TEPHRA_ASSIGN_OR_RETURN(const RoleRow* role, FindRole("refusal", id, fact.role));
  Refuse(role->cls, fact.node);
  // Refused was what the latest plan that put the role there decided last, or all of it.
  std::uint64_t plan = 0;
  bool elastic = false;
  for (TaskId task : role->tasks) {
    const TaskRow& row = books_.tasks[task.index()];
    if (!AssumedOn(row, fact.node) || row.assumed_by < plan) continue;
    const bool here_elastic = fact.elastic || row.assumed_part == Part::kElastic;
    elastic = here_elastic && (elastic || row.assumed_by > plan);
    plan = row.assumed_by;
  }
  if (plan > 0) TakeBack(id, plan, elastic);
  ++books_.news;
  MarkDue(id);
  return absl::OkStatus();
}

absl::Status State::On(const PlanStale& fact) {
  const JobId id = FindJob(fact.job);
  if (!id.valid()) return absl::OkStatus();
  std::uint64_t plan = 0;
  for (const RoleRow& role : books_.jobs[id.index()].roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = books_.tasks[task.index()];
      if (row.phase == TaskPhase::kAssumed) plan = std::max(plan, row.assumed_by);
    }
  }
  if (plan > 0) TakeBack(id, plan, fact.elastic);
  if (!fact.elastic && books_.jobs[id.index()].held() > 0) {
    // Nobody was evicted for it either.
    books_.jobs[id.index()].relieved_at = 0;
    LiftHolds(id);
    const std::vector<TaskId> releasing = books_.releasing;
    for (const TaskId task : releasing) {
      const TaskRow& row = books_.tasks[task.index()];
      if (!row.evicting || row.evicted_for != id) continue;
      SetPhase(task, TaskPhase::kRunning, row.node, row.slices);
    }
    growth_.Anywhere();
  }
  MarkDue(id);
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
  const TaskRow& row = books_.tasks[task.index()];
  const bool assumed = AssumedOn(row, fact.node);
  RefuseForNow(assumed ? row.cls : role->cls, fact.node);
  ++books_.news;
  MarkDue(id);
  if (!assumed) return absl::OkStatus();
  SetPhase(task, Unplaced(row), NodeId(), {});
  JobRow& job = books_.jobs[id.index()];
  job.broken = !job.satisfied();
  return absl::OkStatus();
}

}  // namespace tephra
