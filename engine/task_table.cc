#include "engine/task_table.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tephra {

absl::StatusOr<TaskId> TaskTable::Find(const TaskFact& fact, JobId job) {
  const TaskId known = FindPod(fact.uid);
  if (fact.job.empty()) {
    if (known.valid()) return known;
    const TaskId id = NewTask();
    TaskRow& task = books_.tasks[id.index()];
    task.uid = fact.uid;
    task.cls = AcquireClass(*fact.pod);
    task.phase = TaskPhase::kFailed;  // asks for nothing until its phase is set
    tasks_by_uid_.Insert(books_.tasks, id);
    return id;
  }
  const std::string where = "task \"" + fact.uid + "\"";
  // One that outlived its place in its job is still known by its uid.
  const bool outlived =
      known.valid() && !books_.tasks[known.index()].job.valid();
  if (!job.valid()) {
    if (outlived) return known;
    return absl::NotFoundError(where + ": job: \"" + fact.job + "\" is not known");
  }
  for (const RoleRow& role : books_.jobs[job.index()].roles) {
    if (role.name != fact.role) continue;
    if (fact.index < 0 || static_cast<std::size_t>(fact.index) >= role.tasks.size()) {
      if (outlived) return known;
      return absl::NotFoundError(where + ": index: " + std::to_string(fact.index) + ", role \"" +
                                 fact.role + "\" has " + std::to_string(role.tasks.size()) +
                                 " tasks");
    }
    return role.tasks[static_cast<std::size_t>(fact.index)];
  }
  if (outlived) return known;
  return absl::NotFoundError(where + ": role: job \"" + fact.job + "\" has no role \"" + fact.role +
                             "\"");
}

TaskId TaskTable::FindPod(const std::string& uid) const {
  return tasks_by_uid_.Find(books_.tasks, uid);
}

void TaskTable::SetPod(TaskId id, const std::string& uid) {
  books_.tasks[id.index()].uid = uid;
  tasks_by_uid_.Insert(books_.tasks, id);
}

void TaskTable::RemovePod(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (HoldsRoom(task.phase) && !task.evicted) ++books_.news;
  tasks_by_uid_.Erase(books_.tasks, task.uid);
  task.uid.clear();
  task.version = 0;
  task.disruption_budgets = {};
  task.started = task.checkpointed = 0;
  if (task.job.valid() && !task.preemptible) {
    SetPreemptible(task.job, books_.jobs[task.job.index()].preemptible, -1);
  }
  task.preemptible = true;
  task.priority.reset();
  if (task.job.valid() && books_.jobs[task.job.index()].waits_for_victims()) DropRoom(id);
  if (!task.job.valid()) {
    DropTask(id);
  } else if (task.phase != TaskPhase::kSucceeded) {
    SetPhase(id, Unplaced(task), NodeId(), {});
    // A gang that lacks members does not wait for the limit of its queue any more.
    const QueueId queue = books_.jobs[task.job.index()].queue;
    if (task.phase == TaskPhase::kAbsent && books_.queues.limited(queue)) wake_ups_.capacity().In(queue);
  }
}

TaskPhase TaskTable::Unplaced(const TaskRow& task) const {
  if (!task.job.valid()) return TaskPhase::kFailed;  // its job went: no job asks for it
  const bool absent = task.uid.empty() && books_.jobs[task.job.index()].pods_exist;
  return absent ? TaskPhase::kAbsent : TaskPhase::kPending;
}

TaskId TaskTable::NewTask() {
  if (unused_tasks_.empty()) {
    books_.tasks.emplace_back();
    return TaskId(books_.tasks.size() - 1);
  }
  const TaskId id = unused_tasks_.back();
  unused_tasks_.pop_back();
  books_.tasks[id.index()] = TaskRow{};
  return id;
}

void TaskTable::DropTask(TaskId id) {
  DropRoom(id);
  SetPhase(id, TaskPhase::kFailed, NodeId(), {});
  TaskRow& task = books_.tasks[id.index()];
  if (!task.uid.empty()) tasks_by_uid_.Erase(books_.tasks, task.uid);
  books_.classes.Release(task.cls);
  task = TaskRow{};
  task.phase = TaskPhase::kFailed;
  unused_tasks_.push_back(id);
}

QueueId TaskTable::QueueOf(const TaskRow& task) const {
  return task.job.valid() ? books_.jobs[task.job.index()].queue : QueueId();
}

Holder TaskTable::HolderOf(const TaskRow& task) const {
  return {QueueOf(task), task.job.valid() && books_.jobs[task.job.index()].is_protected()};
}

void TaskTable::Charge(const TaskRow& task, int sign) {
  const auto charge = [&] {
    books_.occupancy.Charge(books_.facts(), books_.classes[task.cls], HolderOf(task), task.node,
                            task.slices, sign);
  };
  if (!books_.usage.on() || !task.job.valid()) return charge();
  const JobRow& job = books_.jobs[task.job.index()];
  const Resources before = books_.occupancy.queue_own(job.queue);
  charge();
  Resources more = books_.occupancy.queue_own(job.queue);
  books_.usage.Hold(job.queue, job.user, more.Add(before, -1));
}

Resources TaskTable::HeldBy(const TaskRow& task) {
  const QueueId queue = QueueOf(task);
  const auto charge = [&](int sign) {
    books_.occupancy.Charge(books_.facts(), books_.classes[task.cls], HolderOf(task), task.node,
                            task.slices, sign);
  };
  Resources held = books_.occupancy.queue_own(queue);
  charge(-1);
  held.Add(books_.occupancy.queue_own(queue), -1);
  charge(+1);
  return held;
}

void TaskTable::Seat(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (!HoldsRoom(task.phase)) return;
  auto& here = books_.tasks_on[task.node.index()];
  task.place_on_node = static_cast<std::uint32_t>(here.size());
  here.push_back(id);
  if (books_.hardware.present(task.node)) Charge(task, +1);
}

void TaskTable::Unseat(TaskId id) {
  const TaskRow& task = books_.tasks[id.index()];
  if (!HoldsRoom(task.phase)) return;
  if (books_.hardware.present(task.node)) Charge(task, -1);
  auto& here = books_.tasks_on[task.node.index()];
  here[task.place_on_node] = here.back();
  books_.tasks[here.back().index()].place_on_node = task.place_on_node;
  here.pop_back();
}

void TaskTable::SetPhase(TaskId id, TaskPhase phase, NodeId node, Slices slices) {
  TaskRow& task = books_.tasks[id.index()];
  const PhaseChange change{id, task.phase, phase};
  Count(task, -1);
  task.evicting = false;
  if (phase != TaskPhase::kReleasing) {
    task.evicted = false;
    task.evicted_for = JobId();
  }
  const bool seat_changes = HoldsRoom(phase) != HoldsRoom(task.phase) ||
                            (HoldsRoom(phase) && (node != task.node || slices != task.slices));
  if (seat_changes) {
    if (HoldsRoom(task.phase)) wake_ups_.Left(task.node, task.expected_end);
    if (HoldsRoom(phase) && phase != TaskPhase::kAssumed) ++books_.surprises, ++books_.losses;
    Unseat(id);
    task.phase = phase;
    task.node = node;
    task.slices = std::move(slices);
    Seat(id);
  } else {
    task.phase = phase;
  }
  Count(task, +1);
  Follow(change);
}

void TaskTable::Follow(const PhaseChange& change) {
  TaskRow& task = books_.tasks[change.task.index()];
  FollowTermination(change);
  FollowReservation(change);
  FollowTimeline(change.task);
  if (!task.job.valid()) return;
  books_.inqueue.Touch(task.job);
  JobRow& job = books_.jobs[task.job.index()];
  const bool was_pending = change.from == TaskPhase::kPending;
  const bool asks = change.to == TaskPhase::kPending || change.to == TaskPhase::kAbsent;
  if (asks && !was_pending) ChangeClass(task, job.roles[task.role].cls);
  if (!was_pending && change.to == TaskPhase::kPending) MarkDue(task.job);
  if (was_pending != (change.to == TaskPhase::kPending)) {
    RefreshWaiting(task.job);
  } else {
    FollowMinimum(task.job);
    FollowStart(task.job);  // it may have lost its minimum
    books_.lines.Follow(books_, task.job);  // it may run now, or have reserved room
  }
  // No job misses an elastic group that is gone.
  const bool may_satisfy =
      CountsToMinimum(change.to) || (CountsToMinimum(change.from) && !job.groups.empty());
  if (may_satisfy && job.satisfied()) DropSatisfied(task.job);
  if (!job.broken) return;
  job.broken = !job.satisfied();
  books_.lines.Follow(books_, task.job);
  // Another of its bindings has come out: time to complete or unwind it.
  if (job.broken && change.to != TaskPhase::kAssumed) MarkDue(task.job);
}

void TaskTable::FollowTermination(const PhaseChange& change) {
  TaskRow& task = books_.tasks[change.task.index()];
  const bool before = change.from == TaskPhase::kReleasing && !task.stuck;
  terminations_.erase({task.terminates_by, change.task});
  if (change.to != TaskPhase::kReleasing) task.terminates_by = 0;
  task.stuck = change.to == TaskPhase::kReleasing && Overdue(task.terminates_by, cycle_time_);
  if (task.leaves() && task.terminates_by > 0) terminations_.emplace(task.terminates_by, change.task);
  if (task.leaves() == before) return;
  ListReleasing(change.task, task.leaves());
  if (HoldsRoom(change.to)) books_.occupancy.Touch(task.node);
}

void TaskTable::SetTermination(TaskId id, TimeMs by) {
  TaskRow& task = books_.tasks[id.index()];
  terminations_.erase({task.terminates_by, id});
  // So that the timeout can be added.
  task.terminates_by = std::clamp<TimeMs>(by, 0, std::numeric_limits<TimeMs>::max() / 2);
}

bool TaskTable::Overdue(TimeMs terminates_by, TimeMs now) const {
  const DurationMs timeout = books_.config.stuck_pod_timeout_ms;
  return timeout > 0 && terminates_by > 0 && now - terminates_by >= timeout;
}

void TaskTable::FollowTerminations() {
  for (std::size_t t = 0; t < books_.tasks.size(); ++t) {
    if (books_.tasks[t].phase != TaskPhase::kReleasing) continue;
    FollowTermination({TaskId(t), TaskPhase::kReleasing, TaskPhase::kReleasing});
  }
}

void TaskTable::ExpireTerminations(TimeMs now) {
  while (!terminations_.empty() && Overdue(terminations_.begin()->first, now)) {
    const TaskId id = terminations_.begin()->second;
    terminations_.erase(terminations_.begin());
    TaskRow& task = books_.tasks[id.index()];
    task.stuck = true;
    ListReleasing(id, false);
    books_.occupancy.Touch(task.node);
    ++books_.surprises, ++books_.losses, ++books_.news, ++books_.version;
    wake_ups_.capacity().Anywhere();
  }
}

TimeMs TaskTable::NextPassed() const {
  const TimeMs next = wake_ups_.NextPassed(books_);
  const DurationMs timeout = books_.config.stuck_pod_timeout_ms;
  if (timeout == 0 || terminations_.empty()) return next;
  const TimeMs at = terminations_.begin()->first + timeout;
  return next == 0 ? at : std::min(next, at);
}

void TaskTable::ListReleasing(TaskId id, bool on) {
  std::vector<TaskId>& list = books_.releasing;
  TaskRow& task = books_.tasks[id.index()];
  if (on) {
    task.place_releasing = static_cast<std::uint32_t>(list.size());
    list.push_back(id);
    return;
  }
  list[task.place_releasing] = list.back();
  books_.tasks[list.back().index()].place_releasing = task.place_releasing;
  list.pop_back();
}

// A task that is pending again asks for what its role says now. REQUIRES: it holds no room.
void TaskTable::ChangeClass(TaskRow& task, ClassId cls) {
  if (task.cls == cls) return;
  if (Demands(task)) {
    CountDemand(QueueOf(task), task.cls, -1);
    CountDemand(QueueOf(task), cls, +1);
  }
  books_.classes.Retain(cls);
  books_.classes.Release(task.cls);
  task.cls = cls;
}

// A new class may get the id of one that was refused somewhere.
ClassId TaskTable::AcquireClass(const PodTemplate& pod) {
  for (const DomainLimit& limit : pod.limits) books_.hardware.FollowKey(limit.topology_key);
  const std::uint64_t generations = books_.classes.generations();
  const ClassId cls = books_.classes.Acquire(pod);
  if (books_.classes.generations() != generations) {
    std::erase_if(books_.refused, [&](std::uint64_t key) { return key >> 32 == cls.value; });
  }
  books_.occupancy.Grow(books_.facts());  // its limits may be new
  return cls;
}

}  // namespace tephra
