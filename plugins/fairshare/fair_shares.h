// What each queue of a cluster is to have now: the water-fill of all kinds.
#pragma once

#include <vector>

#include "plugins/framework/snapshot.h"

namespace tephra {

// Of a kind that nobody asks for, and of GPU memory where GPUs are promised and memory is not.
constexpr std::int64_t kNotShared = -1;

// By QueueId, with the queues under it, rounded to whole units. Demand is what a queue's jobs hold
// and what their pending tasks ask for; what they hold and what is free is shared.
std::vector<Resources> FairShares(const Books& books);

// The part of its share that a queue has, in millionths, of the kind of which it has the largest
// part. Of a queue that is to have nothing but holds something: kNoShare.
constexpr std::int64_t kNoShare = std::int64_t{1} << 62;
std::int64_t DominantPart(const Resources& holds, const Resources& share);

}  // namespace tephra
