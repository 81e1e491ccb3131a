// The estimated all-reduce bandwidth of a job on the nodes where it runs.
#pragma once

#include <optional>

#include "simulations/report/summary.h"
#include "simulations/world.h"
#include "topology/all_reduce.h"
#include "topology/hardware.h"

namespace tephra {

// Considers the tasks that run or have ended, on the current cluster. None if they have fewer than
// two GPUs, if one of these is shared (collectives need whole GPUs), or if a node was removed.
std::optional<AllReduceLine> EstimateAllReduce(const Hardware& hardware, const JobRecord& job,
                                               const Bandwidths& bandwidths);

}  // namespace tephra
