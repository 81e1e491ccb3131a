// SortByUsers: which user of a queue has the next turn, by past usage.
#pragma once

#include <vector>

#include "engine/snapshot.h"

namespace tephra {

// Sorts jobs of the queue. Among jobs of equal priority, the job of the user with less past usage
// goes first, measured by the largest part of the cluster: dominant resource fairness over time.
// Jobs of one user keep their order. Pure, no thread rule.
void SortByUsers(const Snapshot& snapshot, QueueId queue, std::vector<JobId>& jobs);

}  // namespace tephra
