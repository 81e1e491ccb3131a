// A job's priority as it counts now, and what else puts it before other jobs of its queue.
#pragma once

#include <compare>

#include "engine/snapshot.h"

namespace tephra {

// Its own, and one more for each EngineConfig::priority_boost_ms since it was created. Of two jobs
// the one that is ahead never falls behind the other: both grow at the same pace.
std::int64_t PriorityOf(const Snapshot& snapshot, const JobRow& job);

// Of two jobs of a queue the higher goes first, and may have the lower evicted.
struct Precedence {
  std::int64_t priority = 0;
  std::int64_t nearness = 0;  // to its end: minus LeftOf where jobs are evicted by it, else 0

  auto operator<=>(const Precedence&) const = default;
};
Precedence PrecedenceOf(const Snapshot& snapshot, const JobRow& job);

// What JobOrder goes by, less being first: the job's run-time estimate, or what is
// left of that now, or what is left times the milli-GPUs that it has in all (milli-cores without
// GPUs). 0 where jobs go as they came; the most there is where it is not known.
//
// What runs has less left as time passes and what waits does not, so a task that could not be
// evicted for a pending job never can be later.
std::int64_t LeftOf(const Books& books, TimeMs now, const JobRow& job);
inline std::int64_t LeftOf(const Snapshot& snapshot, const JobRow& job) {
  return LeftOf(snapshot.books(), snapshot.now(), job);
}

// Whether a job is evicted for one of its queue and priority that has less left.
inline bool EvictsByLeft(const EngineConfig& config) {
  return config.job_order == JobOrder::kRemaining || config.job_order == JobOrder::kRemainingWork;
}

}  // namespace tephra
