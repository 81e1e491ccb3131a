// A job's priority as it counts now.
#pragma once

#include "plugins/framework/snapshot.h"

namespace tephra {

// Its own, and one more for each EngineConfig::priority_boost_ms since it was created. Of two jobs
// the one that is ahead never falls behind the other: both grow at the same pace.
std::int64_t PriorityOf(const Snapshot& snapshot, const JobRow& job);

}  // namespace tephra
