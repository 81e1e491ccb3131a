// How long running jobs are estimated to run, and when they end.
#include <algorithm>
#include <utility>

#include "engine/task_table.h"

namespace tephra {

TaskTable::JobSize TaskTable::SizeOf(const JobRow& job) const {
  JobSize size;
  for (const RoleRow& role : job.roles) {
    const auto tasks = static_cast<std::int64_t>(role.tasks.size());
    if (tasks == 0) continue;
    const Resources& demand = books_.classes[role.cls].demand;
    size.gpus += tasks * demand[kGpu];
    size.cpus += tasks * demand[kCpu];
  }
  return size;
}

RunSubject TaskTable::SubjectOf(const JobRow& job) const {
  const JobSize size = SizeOf(job);
  return {job.queue, *job.user, *job.program, size.gpus > 0 ? size.gpus : size.cpus,
          job.stated_runtime_ms};
}

PendingWork TaskTable::WorkOf(const JobRow& job) const {
  const JobSize size = SizeOf(job);
  const std::int64_t thousandths = size.gpus > 0 ? size.gpus : size.cpus;
  return {job.queue,     job.priority, (thousandths + 999) / 1000, job.estimated_runtime_ms,
          size.gpus > 0, job.waits_since != 0};
}

void TaskTable::FollowStart(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const bool pending = job.waits() && !job.satisfied();
  if (pending == job.start_awaited) return;
  job.start_awaited = pending;
  if (pending) {
    books_.starts.Enter(id, WorkOf(job));
  } else {
    books_.starts.Leave(id, job.satisfied());
  }
}

void TaskTable::ForgetStart(JobId id) {
  if (std::exchange(books_.jobs[id.index()].start_awaited, false)) books_.starts.Leave(id, false);
}

void TaskTable::EstimateRun(JobRow& job) const {
  job.estimated_runtime_ms = books_.config.predicts_run(job.stated_runtime_ms > 0)
                                 ? books_.runs.Predict(SubjectOf(job))
                                 : job.stated_runtime_ms;
}

void TaskTable::NoteRun(const TaskRow& task) {
  if (!task.job.valid()) return;
  const JobRow& job = books_.jobs[task.job.index()];
  if (job.evictions > 0 || !books_.config.learns_runs()) return;  // a part of a run says little
  const auto first = [&](const RoleRow& role) {
    return std::none_of(role.tasks.begin(), role.tasks.end(), [&](TaskId other) {
      return books_.tasks[other.index()].phase == TaskPhase::kSucceeded;
    });
  };
  if (std::all_of(job.roles.begin(), job.roles.end(), first)) {
    ended_.push_back({SubjectOf(job), task.started});
  }
}

// As of the last cycle; 0: the task does not run, or has no estimate.
TimeMs TaskTable::ExpectedEndOf(const TaskRow& task) const {
  const bool runs = task.phase == TaskPhase::kRunning;
  if (!runs && task.phase != TaskPhase::kAssumed) return 0;
  RunEstimate run = {task.estimated_runtime_ms, task.estimated_runtime_ms};
  if (task.job.valid()) {
    const JobRow& job = books_.jobs[task.job.index()];
    run = {job.estimated_runtime_ms, job.stated_runtime_ms};
  }
  return ExpectedEnd(runs ? task.started : task.assumed_at, run, cycle_time_);
}

void TaskTable::FollowTimeline(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  const TimeMs end = ExpectedEndOf(task);
  if (end != task.expected_end && end != 0 && task.expected_end != 0) {
    ++books_.surprises;
    if (end > task.expected_end) ++books_.losses;
  }
  // Readers of the log of nodes learn of it, too.
  if (end != task.expected_end && HoldsRoom(task.phase)) books_.occupancy.Touch(task.node);
  books_.timeline.Move(id, task.expected_end, end);
  task.expected_end = end;
}

void TaskTable::FollowTimeline(const JobRow& job) {
  for (const RoleRow& role : job.roles) {
    for (const TaskId task : role.tasks) {
      const TimeMs before = books_.tasks[task.index()].expected_end;
      FollowTimeline(task);
      if (books_.tasks[task.index()].expected_end != before) wake_ups_.capacity().Anywhere();
    }
  }
}

// Predictions learn from tasks that ended. A task that outlives its estimate gets a later end,
// and reservations that rest on it are made again.
void TaskTable::FollowTimeline(TimeMs now) {
  for (const Run& run : ended_) books_.runs.Ended(run.job, now - run.started);
  ended_.clear();
  const Timeline::Ends& ends = books_.timeline.ends();
  while (!ends.empty() && ends.begin()->first < now) {
    FollowTimeline(ends.begin()->second);
    wake_ups_.capacity().Anywhere();
  }
}

std::string TaskTable::CheckTimeline() const {
  Timeline fresh;
  for (std::size_t t = 0; t < books_.tasks.size(); ++t) {
    const TimeMs end = ExpectedEndOf(books_.tasks[t]);
    if (books_.tasks[t].expected_end != end) {
      return "task \"" + books_.tasks[t].uid + "\": timeline: ends at another time";
    }
    fresh.Move(TaskId(t), 0, end);
  }
  return fresh == books_.timeline ? "" : "timeline: holds other ends";
}

}  // namespace tephra
