// What each queue of a cluster is to have now: the water-fill of all kinds.
#pragma once

#include <vector>

#include "plugins/framework/policy.h"

namespace tephra {

// By QueueId, with the queues under it, rounded to whole units. Demand is what a queue's jobs hold
// and what their pending tasks ask for; what all nodes have is shared, but for what pods outside
// the queues hold. Not shared is a kind that nobody asks for, and GPU memory where GPUs are
// promised and memory is not.
class FairShares final : public Share {
 public:
  Answer Of(const Books& books) const override;
};

// The part of its share that a queue has, in millionths, of the kind of which it has the largest
// part. Of a queue that is to have nothing but holds something: kNoShare.
constexpr std::int64_t kNoShare = std::int64_t{1} << 62;
std::int64_t DominantPart(const Resources& holds, const Resources& share);

}  // namespace tephra
