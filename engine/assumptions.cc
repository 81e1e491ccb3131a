#include "engine/assumptions.h"

#include <algorithm>
#include <vector>

namespace tephra {
namespace {

bool AnyLess(const Resources& now, const Resources& before) {
  return Resources::Max(now, before) != now;
}

// What is used, and what jobs past the enqueue gate lack. When it becomes less, other jobs may be
// admitted: as when room is reserved on devices that tasks have yet to leave.
Resources TakenOrLacked(const Books& books) {
  Resources taken = books.hardware.total();
  return taken.Add(books.occupancy.free_total(), -1).Add(books.inqueue.missing());
}

void Remember(Books& books, const Decision& decision, TimeMs now, std::uint64_t plan) {
  if (decision.part == Part::kElastic && decision.verdict != Verdict::kStart) return;
  books.inqueue.Touch(decision.job);
  Standing& standing = books.jobs[decision.job.index()].standing;
  if (!standing.asked || standing.verdict != decision.verdict ||
      standing.reason->obstacle != decision.reason->obstacle ||
      standing.reason->binding != decision.reason->binding) {
    standing.since = now;
  }
  standing.asked = true;
  standing.verdict = decision.verdict;
  standing.reason = decision.reason;
  standing.plan = plan;
  books.lines.Await(decision.job, AwaitsOf(decision.reason));
}

}  // namespace

void Assumptions::Mark(TaskTable& table, TaskId id, Part part, TimeMs now) {
  TaskRow& task = table.books().tasks[id.index()];
  task.assumed_at = now;
  task.assumed_by = plans_;
  task.assumed_part = part;
  open_.emplace_back(now, id);
  table.FollowTimeline(id);
}

void Assumptions::Evict(TaskTable& table, const Decision& decision, TimeMs now) {
  if (decision.evictions.empty()) return;
  Books& books = table.books();
  ++books.surprises, ++books.losses;
  JobRow& job = books.jobs[decision.job.index()];
  const bool for_job = decision.verdict != Verdict::kUnwind;
  if (for_job) {
    job.made_room_at = books.news;  // a job with reserved room stands in no line
  } else {
    job.broken = false;
  }
  JobId victim;
  for (TaskId id : decision.evictions) {
    TaskRow& task = books.tasks[id.index()];
    if (for_job && task.job.valid() && task.job != victim) {
      victim = task.job;
      ++books.jobs[victim.index()].evictions;
    }
    table.SetPhase(id, TaskPhase::kReleasing, task.node, task.slices);
    task.evicting = true;
    task.evicted = true;
    task.evicted_for = decision.job;
    Mark(table, id, decision.part, now);
  }
}

void Assumptions::Assume(TaskTable& table, const Decision& decision, TimeMs now) {
  Books& books = table.books();
  if (decision.part == Part::kMinimum) {
    table.DropReservation(decision.job);
    if (decision.verdict == Verdict::kReserve) {
      table.ReserveStart(decision.job, Reservation::Start(decision.reason->start_ms,
                                                          decision.reserved_tasks,
                                                          decision.reserved));
    }
  }
  const bool at_once = decision.verdict != Verdict::kStartAfterEviction;
  for (const Placement& placement : decision.placements) {
    if (at_once) {
      table.SetPhase(placement.task, TaskPhase::kAssumed, placement.node, placement.slices);
      Mark(table, placement.task, decision.part, now);
    } else {
      table.Reserve(placement, Reservation::Kind::kVictims);
    }
  }
  Evict(table, decision, now);
  for (const Placement& move : decision.moves) table.Reserve(move, Reservation::Kind::kMove);
  if (!decision.moves.empty()) {
    books.moves.emplace_back(now, static_cast<std::int32_t>(decision.moves.size()));
  }
  Remember(books, decision, now, plans_);
}

void Assumptions::Assume(TaskTable& table, const Plan& plan) {
  ++plans_;
  Books& books = table.books();
  CapacityEvent& capacity = table.wake_ups().capacity();
  Resources taken = TakenOrLacked(books);
  std::vector<JobId> outside;  // jobs that the gate had not admitted
  for (const Decision& decision : plan.decisions) {
    if (decision.part == Part::kMinimum && !books.jobs[decision.job.index()].admitted()) {
      outside.push_back(decision.job);
    }
    Assume(table, decision, plan.now);
  }
  for (const auto& [job, from, every_queue] : plan.line_answers) {
    books.lines.Tell(job, from, every_queue, books.jobs[job.index()].standing);
  }
  for (const ShapeId shape : plan.reserved_shapes) {
    books.lines.Await(shape, Awaits::kReservations);
  }
  for (JobId id : plan.starts_confirmed) table.ConfirmStart(id);
  for (const auto& [job, at] : plan.evictions_from) {
    books.jobs[job.index()].evictions_from = at;
    table.wake_ups().AskAt(at, job);
  }
  for (JobId id : plan.dropped) {
    books.jobs[id.index()].quarantined = true;
    books.lines.Follow(books, id);
  }
  if (!plan.dropped.empty()) capacity.Anywhere();  // what these would have taken is free
  if (books.inqueue.on()) {
    const bool shrinks = books.inqueue.Follow(books);
    // Jobs that were not admitted were judged beside all that were.
    for (const JobId id : outside) {
      const JobRow& job = books.jobs[id.index()];
      if (job.admitted()) taken.Add(ClaimOf(books, job).minimum);
    }
    if (shrinks || AnyLess(TakenOrLacked(books), taken)) capacity.Anywhere();
  }
  table.wake_ups().AskAgainAt(plan.ask_again_at);
  if (!plan.decisions.empty()) ++books.version;
  books.usage.Apply();
}

void Assumptions::Expire(TaskTable& table, TimeMs now) {
  Books& books = table.books();
  std::vector<JobId> kept;  // gangs that are broken, or whose evictions were not carried out
  while (!open_.empty()) {
    const auto [at, id] = open_.front();
    const TaskRow& task = books.tasks[id.index()];
    const bool open = (task.phase == TaskPhase::kAssumed || task.evicting) && task.assumed_at == at;
    if (open && now - at < books.config.assume_timeout_ms) break;
    open_.pop_front();
    if (!open) continue;
    const JobId job = task.job;
    if (task.evicting) {
      if (task.evicted_for.valid()) {
        books.jobs[task.evicted_for.index()].made_room_at = 0;
        books.lines.Follow(books, task.evicted_for);
      }
      table.SetPhase(id, TaskPhase::kRunning, task.node, task.slices);
      table.wake_ups().capacity().Anywhere();  // a job that waits for its room waits in vain
      if (job.valid()) kept.push_back(job);
    } else {
      // Halfway through it may seem whole.
      if (job.valid() && books.jobs[job.index()].broken) kept.push_back(job);
      table.Unplace(id);
    }
    if (job.valid()) table.MarkDue(job);
    ++books.version;
  }
  // Each is as broken as before, unless what else was assumed of it, and still is, makes it whole.
  for (const JobId job : kept) {
    books.jobs[job.index()].broken = !books.jobs[job.index()].satisfied();
    books.lines.Follow(books, job);
  }
  const Resources lacked = books.inqueue.missing();
  const bool shrinks = books.inqueue.Follow(books);
  if (shrinks || AnyLess(books.inqueue.missing(), lacked)) table.wake_ups().capacity().Anywhere();
  books.usage.Apply();
}

void Assumptions::TakeBack(TaskTable& table, JobId id, std::uint64_t plan, bool elastic_only) {
  for (const RoleRow& role : table.books().jobs[id.index()].roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = table.books().tasks[task.index()];
      if (row.phase != TaskPhase::kAssumed || row.assumed_by != plan) continue;
      if (elastic_only && row.assumed_part != Part::kElastic) continue;
      table.Unplace(task);
    }
  }
}

void Assumptions::Refuse(TaskTable& table, ClassId cls, const std::string& name) {
  Books& books = table.books();
  const NodeId node = books.hardware.Find(name);
  if (!node.valid()) return;
  const std::uint64_t key = RefusalKey(cls, node);
  books.refused.insert(key);
  books.occupancy.Touch(node);
  std::erase_if(failed_binds_, [&](const auto& failed) { return failed.second == key; });
}

void Assumptions::RefuseForNow(TaskTable& table, ClassId cls, const std::string& name) {
  const NodeId node = table.books().hardware.Find(name);
  if (!node.valid()) return;
  Refuse(table, cls, name);
  failed_binds_.emplace_back(table.cycle_time(), RefusalKey(cls, node));
}

void Assumptions::ForgiveRefusals(TaskTable& table, TimeMs now) {
  Books& books = table.books();
  while (!failed_binds_.empty() &&
         now - failed_binds_.front().first >= books.config.assume_timeout_ms) {
    const std::uint64_t key = failed_binds_.front().second;
    failed_binds_.pop_front();
    if (books.refused.erase(key) == 0) continue;
    books.occupancy.Touch(NodeId(static_cast<std::uint32_t>(key)));
    table.wake_ups().capacity().Anywhere();
    ++books.version;
  }
}

}  // namespace tephra
