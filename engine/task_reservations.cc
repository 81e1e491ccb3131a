// Room that is reserved now: for tasks that move, and for gangs whose victims still terminate.
#include <algorithm>
#include <utility>

#include "engine/task_table.h"
#include "topology/base/check.h"

namespace tephra {

void TaskTable::ReserveMove(const Placement& move) {
  const TaskId id = NewTask();
  TaskRow& task = books_.tasks[move.task.index()];
  TEPHRA_CHECK(!task.reserved_row.valid() && task.job.valid());
  TaskRow& room = books_.tasks[id.index()];
  room.job = task.job;
  room.role = task.role;
  room.index = task.index;
  room.cls = task.cls;
  books_.classes.Retain(room.cls);
  room.phase = TaskPhase::kReserved;
  room.node = move.node;
  room.slices = move.slices;
  Seat(id);
  task.reserved_row = id;
  ++books_.jobs[task.job.index()].reserved_rows;
  books_.lines.Follow(books_, task.job);
  books_.inqueue.Touch(task.job);
}

void TaskTable::DropReservation(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (!task.reserved_row.valid()) return;
  const TaskId room = std::exchange(task.reserved_row, TaskId());
  Unseat(room);
  books_.classes.Release(books_.tasks[room.index()].cls);
  books_.tasks[room.index()] = TaskRow{};
  books_.tasks[room.index()].phase = TaskPhase::kFailed;
  unused_tasks_.push_back(room);
  --books_.jobs[task.job.index()].reserved_rows;
  books_.lines.Follow(books_, task.job);
  books_.inqueue.Touch(task.job);
  wake_ups_.capacity().Anywhere();
}

void TaskTable::DropReservations(JobId id) {
  if (books_.jobs[id.index()].reserved_rows == 0) return;
  for (const RoleRow& role : books_.jobs[id.index()].roles) {
    for (const TaskId task : role.tasks) DropReservation(task);
  }
}

// The room is needed until the task has a place again, or ends.
void TaskTable::FollowReservation(const PhaseChange& change) {
  const TaskRow& task = books_.tasks[change.task.index()];
  if (!task.reserved_row.valid()) return;
  const auto gone = [](TaskPhase phase) {
    return phase == TaskPhase::kAbsent || phase == TaskPhase::kFailed;
  };
  if (gone(change.to)) {
    if (gone(change.from)) return;
    books_.tasks[task.reserved_row.index()].assumed_at = cycle_time_;
    awaited_.emplace_back(cycle_time_, change.task);
  } else if (change.to != TaskPhase::kPending && change.to != TaskPhase::kReleasing) {
    DropReservation(change.task);
  }
}

void TaskTable::ExpireReservations(TimeMs now) {
  while (!awaited_.empty() &&
         now - awaited_.front().first >= books_.config.move_return_timeout_ms()) {
    const auto [at, id] = awaited_.front();
    awaited_.pop_front();
    const TaskRow& task = books_.tasks[id.index()];
    const bool gone = task.phase == TaskPhase::kAbsent || task.phase == TaskPhase::kFailed;
    if (!gone || !task.reserved_row.valid()) continue;
    if (books_.tasks[task.reserved_row.index()].assumed_at != at) continue;
    MarkDue(task.job);
    DropReservation(id);
    ++books_.version;
  }
}

void TaskTable::TakeOverHeld(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (task.phase != TaskPhase::kPending || !task.job.valid()) return;
  if (books_.jobs[task.job.index()].to_hold.empty()) return;
  JobRow& job = books_.jobs[task.job.index()];
  const auto room =
      std::find_if(job.to_hold.begin(), job.to_hold.end(), [&](const RecordedReservation& one) {
        return one.role == job.roles[task.role].name && one.index == task.index;
      });
  if (room == job.to_hold.end()) return;
  const RecordedReservation held = std::move(*room);
  job.to_hold.erase(room);
  if (job.satisfied()) return;
  const NodeId node = books_.hardware.Reserve(held.node);
  if (books_.tasks_on.size() <= node.index()) books_.tasks_on.resize(node.index() + 1);
  books_.occupancy.Grow(books_.facts());
  SetPhase(id, TaskPhase::kHeld, node, held.slices);
}

void TaskTable::DropHeld(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  job.to_hold.clear();
  if (job.held() == 0) return;
  for (const RoleRow& role : job.roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = books_.tasks[task.index()];
      if (row.phase == TaskPhase::kHeld) SetPhase(task, Unplaced(row), NodeId(), {});
    }
  }
}

}  // namespace tephra
