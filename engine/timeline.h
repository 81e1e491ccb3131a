// Timeline: when what runs is expected to end, in exact time. A derived index of State: equal to
// one built from scratch.
//
// If a task outlives a prediction, the run time that its owner stated becomes the estimate. If the
// owner stated nothing, four times the prediction becomes the estimate, again and again. If a task
// outlives what its owner stated, the estimate grows in steps, as in Tsafrir, Etsion and Feitelson,
// "Backfilling using system-generated predictions rather than user runtime estimates", IEEE TPDS
// 2007.
#pragma once

#include <utility>

#include <absl/container/btree_set.h>

#include "topology/base/ids.h"
#include "topology/base/time.h"

namespace tephra {

struct RunEstimate {
  DurationMs expected = 0;  // 0: not known
  DurationMs stated = 0;    // by the owner; 0: not stated
};

// When a task that began at `started` and still runs at `now` is expected to end: at least `now`.
// 0: it is not known.
TimeMs ExpectedEnd(TimeMs started, RunEstimate estimate, TimeMs now);

class Timeline {
 public:
  using Ends = absl::btree_set<std::pair<TimeMs, TaskId>>;

  // `before` and `after` are when the task was and is expected to end; 0: not known.
  void Move(TaskId task, TimeMs before, TimeMs after) {
    if (before == after) return;
    if (before != 0) ends_.erase({before, task});
    if (after != 0) ends_.emplace(after, task);
  }
  const Ends& ends() const { return ends_; }

  bool operator==(const Timeline&) const = default;

 private:
  Ends ends_;
};

}  // namespace tephra
