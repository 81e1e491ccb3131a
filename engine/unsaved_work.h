// How much work of a running task is not saved, in milliseconds.
#pragma once

#include <algorithm>

#include "engine/snapshot.h"

namespace tephra {

// What the task would do again if it were evicted at that time, which is now or later. It saves its work
// when it reports a checkpoint, and at each checkpoint interval of its job since then. A task whose start
// is not known counts as running since time 0.
inline DurationMs UnsavedWork(const Snapshot& snapshot, const TaskRow& task, TimeMs at) {
  const DurationMs work = std::max<DurationMs>(at - std::max(task.started, task.checkpointed), 0);
  const DurationMs interval = task.job.valid() ? snapshot.job(task.job).checkpoint_interval_ms : 0;
  return interval > 0 ? work % interval : work;
}

// When the task next saves its work, by the checkpoint interval of its job; 0: not known.
inline TimeMs NextCheckpoint(const Snapshot& snapshot, const TaskRow& task) {
  const DurationMs interval = task.job.valid() ? snapshot.job(task.job).checkpoint_interval_ms : 0;
  if (interval <= 0) return 0;
  return snapshot.now() + interval - UnsavedWork(snapshot, task, snapshot.now());
}

}  // namespace tephra
