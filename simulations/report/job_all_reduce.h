// How fast a job's tasks sum their gradients where they were placed.
#pragma once

#include <optional>

#include "simulations/report/summary.h"
#include "simulations/world.h"
#include "topology/all_reduce.h"
#include "topology/hardware.h"

namespace tephra {

// Of the tasks that run or have ended, on the cluster as it is now. None where fewer than two GPUs
// are theirs, where one of those is not theirs alone (collectives want whole ones), or where a node
// is gone.
std::optional<AllReduceLine> EstimateAllReduce(const Hardware& hardware, const JobRecord& job,
                                               const Bandwidths& bandwidths);

}  // namespace tephra
