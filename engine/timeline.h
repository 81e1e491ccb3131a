// Timeline: when what runs is expected to end, in exact time. A derived index of State: equal to
// one built from scratch.
//
// One that outlives what was expected is taken to run on for a while more, each time longer, as in
// Tsafrir, Etsion and Feitelson, "Backfilling using system-generated predictions rather than user
// runtime estimates", IEEE TPDS 2007.
#pragma once

#include <utility>

#include <absl/container/btree_set.h>

#include "topology/base/ids.h"
#include "topology/base/time.h"

namespace tephra {

// When what began at `started` and was expected to take `estimated_runtime` is expected to end, now
// that it still runs at `now`: at least `now`. 0: it is not known.
TimeMs ExpectedEnd(TimeMs started, DurationMs estimated_runtime, TimeMs now);

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
