// How long what runs is expected to run, and when it ends.
#include <algorithm>

#include "plugins/framework/state.h"

namespace tephra {

// Of a job of which nobody says how long it runs.
void State::PredictRun(JobRow& job) const {
  if (books_.config.backfill.mode == Backfill::Mode::kNone) return;
  job.expected_run_ms = books_.runs.Predict(job.queue, job.user, books_.config.backfill.predict);
}

// A task ends well. One of each job stands for it.
void State::NoteRun(const TaskRow& task) {
  if (!task.job.valid()) return;
  const JobRow& job = books_.jobs[task.job.index()];
  const auto first = [&](const RoleRow& role) {
    return std::none_of(role.tasks.begin(), role.tasks.end(), [&](TaskId other) {
      return books_.tasks[other.index()].phase == TaskPhase::kSucceeded;
    });
  };
  if (std::all_of(job.roles.begin(), job.roles.end(), first)) {
    ended_.push_back({job.queue, job.user, task.started});
  }
}

// As of the last cycle; 0: it does not run, or nobody knows.
TimeMs State::ExpectedEndOf(const TaskRow& task) const {
  const bool runs = task.phase == TaskPhase::kRunning;
  if (!runs && task.phase != TaskPhase::kAssumed) return 0;
  const DurationMs run = task.job.valid() ? books_.jobs[task.job.index()].expected_run_ms
                                          : task.expected_run_ms;
  return ExpectedEnd(runs ? task.started : task.assumed_at, run, cycle_time_);
}

void State::FollowTimeline(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  const TimeMs end = ExpectedEndOf(task);
  books_.timeline.Move(id, task.expected_end, end);
  task.expected_end = end;
}

// The job is expected to run for another time.
void State::FollowTimeline(const JobRow& job) {
  for (const RoleRow& role : job.roles) {
    for (const TaskId task : role.tasks) {
      const TimeMs before = books_.tasks[task.index()].expected_end;
      FollowTimeline(task);
      if (books_.tasks[task.index()].expected_end != before) growth_.Anywhere();
    }
  }
}

// What has ended is learned from, and what should have ended by now is expected to run on. Promises
// that rest on it are made anew.
void State::FollowTimeline(TimeMs now) {
  for (const Run& run : ended_) books_.runs.Ended(run.queue, run.user, now - run.started);
  ended_.clear();
  const Timeline::Ends& ends = books_.timeline.ends();
  while (!ends.empty() && ends.begin()->first < now) {
    FollowTimeline(ends.begin()->second);
    growth_.Anywhere();
  }
}

std::string State::CheckTimeline() const {
  Timeline anew;
  for (std::size_t t = 0; t < books_.tasks.size(); ++t) {
    const TimeMs end = ExpectedEndOf(books_.tasks[t]);
    if (books_.tasks[t].expected_end != end) {
      return "task \"" + books_.tasks[t].uid + "\": timeline: ends at another time";
    }
    anew.Move(TaskId(t), 0, end);
  }
  return anew == books_.timeline ? "" : "timeline: holds other ends";
}

}  // namespace tephra
