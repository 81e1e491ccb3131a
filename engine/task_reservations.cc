// Room reserved now: for gangs whose victims still terminate, and for tasks that move.
#include <algorithm>
#include <utility>

#include "engine/task_table.h"
#include "topology/base/check.h"

namespace tephra {

void TaskTable::Reserve(const Placement& place, Reservation::Kind kind) {
  const TaskId id = NewTask();
  TaskRow& task = books_.tasks[place.task.index()];
  TEPHRA_CHECK(!task.reserved_row.valid() && task.job.valid());
  JobRow& job = books_.jobs[task.job.index()];
  Reservation reservation = job.keeps_room() ? *job.reservation : Reservation{kind};
  TEPHRA_CHECK(reservation.kind == kind);
  if (Demands(task)) CountDemand(QueueOf(task), task.cls, -1);
  TaskRow& room = books_.tasks[id.index()];
  room.job = task.job;
  room.role = task.role;
  room.index = task.index;
  room.cls = task.cls;
  books_.classes.Retain(room.cls);
  room.phase = TaskPhase::kReserved;
  room.node = place.node;
  room.slices = place.slices;
  Seat(id);
  task.reserved_row = id;
  ++reservation.rows;
  job.reservation = std::move(reservation);
  books_.lines.Follow(books_, task.job);
  books_.inqueue.Touch(task.job);
}

void TaskTable::ReserveStart(JobId id, Reservation start) {
  DropReservation(id);
  books_.jobs[id.index()].reservation = std::move(start);
  ConfirmStart(id);
  books_.reserved_starts.insert(id);
}

void TaskTable::ConfirmStart(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  if (job.reservation->kind != Reservation::Kind::kStart) return;
  Reservation start = job.reservation;
  start.turn = ++books_.turns;
  start.as_of = books_.surprises;
  start.held_as_of = books_.losses;
  start.run = job.estimated_runtime_ms;
  job.reservation = std::move(start);
}

// The room is free. A job that waited for it is asked again.
void TaskTable::DropRoom(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (!task.reserved_row.valid()) return;
  const TaskId room = std::exchange(task.reserved_row, TaskId());
  wake_ups_.Left(books_.tasks[room.index()].node, 0);
  Unseat(room);
  books_.classes.Release(books_.tasks[room.index()].cls);
  books_.tasks[room.index()] = TaskRow{};
  books_.tasks[room.index()].phase = TaskPhase::kFailed;
  unused_tasks_.push_back(room);
  Boxed<Reservation>& kept = books_.jobs[task.job.index()].reservation;
  Reservation reservation = kept;
  kept = --reservation.rows == 0 ? Reservation{} : std::move(reservation);
  if (Demands(task)) CountDemand(QueueOf(task), task.cls, +1);
  if (task.phase == TaskPhase::kPending) MarkDue(task.job);
  books_.lines.Follow(books_, task.job);
  books_.inqueue.Touch(task.job);
}

void TaskTable::DropReservation(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  expected_.erase(id);
  for (std::size_t r = 0; r < job.roles.size() && job.keeps_room(); ++r) {
    for (const TaskId task : job.roles[r].tasks) DropRoom(task);
  }
  job.reservation = Reservation{};
}

void TaskTable::DropSatisfied(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  expected_.erase(id);
  if (job.waits_for_victims()) DropReservation(id);
}

// The room stays reserved until the task has a place again, or ends. When the pod of a task that
// moves is gone, the room stays reserved for a while, because the next pod takes its place.
void TaskTable::FollowReservation(const PhaseChange& change) {
  const TaskRow& task = books_.tasks[change.task.index()];
  if (!task.reserved_row.valid()) return;
  const auto gone = [](TaskPhase phase) {
    return phase == TaskPhase::kAbsent || phase == TaskPhase::kFailed;
  };
  const bool moves = books_.jobs[task.job.index()].reservation->kind == Reservation::Kind::kMove;
  if (moves && gone(change.to)) {
    if (gone(change.from)) return;
    books_.tasks[task.reserved_row.index()].assumed_at = cycle_time_;
    awaited_.emplace_back(cycle_time_, change.task);
  } else if (change.to != TaskPhase::kPending && !(moves && change.to == TaskPhase::kReleasing)) {
    DropRoom(change.task);
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
    DropRoom(id);
    ++books_.version;
  }
}

void TaskTable::Expect(JobId id, const std::vector<RecordedReservation>& held) {
  expected_.erase(id);
  for (const RecordedReservation& one : held) expected_[id].try_emplace({one.role, one.index}, one);
}

void TaskTable::TakeOverReservations(JobId id) {
  if (!expected_.contains(id)) return;
  for (const RoleRow& role : books_.jobs[id.index()].roles) {
    for (const TaskId task : role.tasks) TakeOverReservation(task);
  }
}

void TaskTable::TakeOverReservation(TaskId id) {
  const TaskRow& task = books_.tasks[id.index()];
  if (task.phase != TaskPhase::kPending || !task.job.valid()) return;
  const auto of_job = expected_.find(task.job);
  if (of_job == expected_.end()) return;
  const JobRow& job = books_.jobs[task.job.index()];
  auto room = of_job->second.extract({job.roles[task.role].name, task.index});
  if (of_job->second.empty()) expected_.erase(of_job);
  if (room.empty() || job.satisfied()) return;
  const NodeId node = books_.hardware.Reserve(room.mapped().node);
  if (books_.tasks_on.size() <= node.index()) books_.tasks_on.resize(node.index() + 1);
  books_.occupancy.Grow(books_.facts());
  Reserve({id, node, std::move(room.mapped().slices)}, Reservation::Kind::kVictims);
}

}  // namespace tephra
