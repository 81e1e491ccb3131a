// The rows of jobs: their counters, the lists that they are in, and the tasks of their roles.
#include <algorithm>
#include <utility>

#include "engine/task_table.h"

namespace tephra {

void TaskTable::Count(const TaskRow& task, int sign) {
  if (!task.job.valid()) return;
  const JobRow& job = books_.jobs[task.job.index()];
  RoleRow& role = books_.jobs[task.job.index()].roles[task.role];
  if (task.phase == TaskPhase::kPending) {
    role.pending += sign;
    if (Demands(task)) CountDemand(job.queue, task.cls, sign);
  }
  if (!CountsToMinimum(task.phase)) return;
  role.counted += sign;
  ListPlaced(task.job);
}

// The list of jobs of which a task counts towards the minimum: whether this one is in it.
void TaskTable::ListPlaced(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const bool counts = job.counted() > 0;
  if (counts == (job.placed_at != JobRow::kNotPlaced)) return;
  if (books_.placed.size() <= job.queue.index()) books_.placed.resize(job.queue.index() + 1);
  std::vector<JobId>& placed = books_.placed[job.queue.index()];
  if (counts) {
    job.placed_at = static_cast<std::uint32_t>(placed.size());
    placed.push_back(id);
    return;
  }
  placed[job.placed_at] = placed.back();
  books_.jobs[placed.back().index()].placed_at = job.placed_at;
  placed.pop_back();
  job.placed_at = JobRow::kNotPlaced;
}

void TaskTable::CountDemand(QueueId queue, ClassId cls, int sign) {
  if (!queue.valid()) return;
  if (books_.queue_pending.size() <= queue.index()) books_.queue_pending.resize(queue.index() + 1);
  const TaskClass& asks = books_.classes[cls];
  Books::Demand& demand = books_.queue_pending[queue.index()];
  demand.amount.AddKinds(asks.demand, sign, asks.demand_kinds | 1u << kGpu | 1u << kGpuMemory);
  demand.whole_gpus += sign * asks.whole_gpus;
}

void TaskTable::CountPriority(QueueId queue, std::int32_t priority, int sign) {
  auto& queues = books_.queue_priorities;
  if (queues.size() <= queue.index()) queues.resize(queue.index() + 1);
  std::map<std::int32_t, std::int32_t>& jobs = queues[queue.index()];
  const auto it = jobs.try_emplace(priority).first;
  it->second += sign;
  if (it->second == 0) jobs.erase(it);
}

void TaskTable::SetPreemptible(JobId id, bool preemptible, std::int32_t more_protected) {
  JobRow& job = books_.jobs[id.index()];
  const bool was = job.is_protected();
  job.preemptible = preemptible;
  job.protected_tasks += more_protected;
  if (job.is_protected() == was) return;
  bool moved = false;
  const auto move = [&](const TaskRow& task) {
    if (!HoldsRoom(task.phase) || !books_.hardware.present(task.node)) return;
    books_.occupancy.Protect(books_.queues, job.queue, HeldBy(task), was ? -1 : +1);
    moved = true;
  };
  for (const RoleRow& role : job.roles) {
    for (const TaskId task : role.tasks) {
      const TaskRow& row = books_.tasks[task.index()];
      move(row);
      if (row.reserved_row.valid()) move(books_.tasks[row.reserved_row.index()]);
    }
  }
  // Other jobs that are not preemptible may have what it leaves of the quota.
  if (moved && was) wake_ups_.capacity().Anywhere();
  books_.lines.Follow(books_, id);
}

TimeMs TaskTable::DelayedUntil(const JobRow& job) const {
  if (!books_.queues.delays() || job.satisfied()) return 0;
  const DurationMs delay = books_.queues.EvictionDelay(job.queue);
  const TimeMs until = std::max(job.created, job.waits_since) + delay;
  return delay > 0 && until > cycle_time_ ? until : 0;
}

void TaskTable::FollowDelay(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const TimeMs until = DelayedUntil(job);
  if (until == job.delayed_until) return;
  job.delayed_until = until;
  if (until != 0) {
    wake_ups_.DelayedUntil(until, id);
  } else if (job.waits() && !job.satisfied()) {
    MarkDue(id);
  }
  books_.lines.Follow(books_, id);
}

void TaskTable::FollowMinimum(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const bool satisfied = job.satisfied();
  if (satisfied) {
    job.waits_since = JobRow::kRuns;
  } else if (job.waits_since == JobRow::kRuns) {
    job.waits_since = cycle_time_;
  }
  if (books_.queues.delays()) FollowDelay(id);
  if (books_.config.incomplete_gang_timeout_ms == 0) return;
  if (!satisfied && job.counted() > 0) {
    books_.incomplete.try_emplace(id, cycle_time_);
  } else {
    books_.incomplete.erase(id);
  }
}

void TaskTable::ListIncomplete() {
  books_.incomplete.clear();
  for (std::size_t j = 0; j < books_.jobs.size(); ++j) {
    if (books_.jobs[j].live) FollowMinimum(JobId(j));
  }
}

// The list of pending jobs, and its lines: whether and where this one is in them.
void TaskTable::RefreshWaiting(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  FollowMinimum(id);
  FollowStart(id);
  const bool waits = job.waits();
  if (waits == (job.waiting_at != JobRow::kNotWaiting)) return books_.lines.Follow(books_, id);
  if (waits) {
    job.waiting_at = static_cast<std::uint32_t>(books_.waiting.size());
    books_.waiting.push_back(id);
    return books_.lines.Follow(books_, id);
  }
  const JobId last = books_.waiting.back();
  books_.waiting[job.waiting_at] = last;
  books_.jobs[last.index()].waiting_at = job.waiting_at;
  books_.waiting.pop_back();
  job.waiting_at = JobRow::kNotWaiting;
  books_.lines.Follow(books_, id);
}

// What was assumed or kept before the pods came was for them, and is decided again by what they are.
void TaskTable::FollowPods(JobId id, bool pods_came) {
  for (const RoleRow& role : books_.jobs[id.index()].roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = books_.tasks[task.index()];
      if (pods_came && books_.jobs[id.index()].waits_for_victims()) DropRoom(task);
      const bool unplaced = row.phase == TaskPhase::kPending || row.phase == TaskPhase::kAbsent ||
                            (pods_came && row.phase == TaskPhase::kAssumed);
      if (unplaced && row.phase != Unplaced(row)) SetPhase(task, Unplaced(row), NodeId(), {});
    }
  }
}

// Pending tasks take the class. Tasks that hold room keep the class that they were started with,
// and live on without a job if the role no longer has them.
void TaskTable::ReshapeRole(JobId id, std::uint32_t r, std::int32_t replicas, ClassId cls) {
  std::vector<TaskId> tasks = std::move(books_.jobs[id.index()].roles[r].tasks);
  const auto wanted = static_cast<std::size_t>(replicas);
  for (std::size_t i = 0; i < std::min(wanted, tasks.size()); ++i) {
    TaskRow& task = books_.tasks[tasks[i].index()];
    if (task.reserved_row.valid() && books_.tasks[task.reserved_row.index()].cls != cls)
      DropRoom(tasks[i]);
    const bool asks = task.phase == TaskPhase::kPending || task.phase == TaskPhase::kAbsent;
    if (asks) ChangeClass(task, cls);
  }
  std::int32_t protected_gone = 0;
  while (tasks.size() > wanted) {
    const TaskId gone = tasks.back();
    tasks.pop_back();
    TaskRow& task = books_.tasks[gone.index()];
    protected_gone += task.preemptible ? 0 : 1;
    if (task.uid.empty() || !HoldsRoom(task.phase)) {
      DropTask(gone);
      continue;
    }
    DropRoom(gone);
    if (books_.hardware.present(task.node)) Charge(task, -1);
    Count(task, -1);
    task.job = JobId();
    task.estimated_runtime_ms = books_.jobs[id.index()].estimated_runtime_ms;
    if (books_.hardware.present(task.node)) Charge(task, +1);
    FollowTimeline(gone);
    wake_ups_.capacity().Anywhere();
  }
  tasks.reserve(wanted);
  const auto come = static_cast<std::int64_t>(wanted) - static_cast<std::int64_t>(tasks.size());
  books_.recent_pods.Came(books_.classes[cls], come);
  while (tasks.size() < wanted) {
    const TaskId fresh = NewTask();
    TaskRow& task = books_.tasks[fresh.index()];
    task.job = id;
    task.role = r;
    task.index = static_cast<std::int32_t>(tasks.size());
    task.phase = Unplaced(task);
    task.cls = cls;
    books_.classes.Retain(cls);
    tasks.push_back(fresh);
    Count(task, +1);
  }
  books_.jobs[id.index()].roles[r].tasks = std::move(tasks);
  if (protected_gone > 0) SetPreemptible(id, books_.jobs[id.index()].preemptible, -protected_gone);
}

}  // namespace tephra
