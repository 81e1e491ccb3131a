// FairShares: the fair share of each queue now, computed for each kind of resource by a water-fill.
#pragma once

#include <vector>

#include "engine/policy.h"

namespace tephra {

// By QueueId, including the queues under each, rounded to whole units. The demand of a queue is
// what its jobs use and what their pending tasks request. Shared is the capacity of all nodes minus
// the usage of pods outside the queues. A kind without demand is not shared. GPU memory is not
// shared if queues have quotas of GPUs but not of GPU memory. Immutable; any thread.
class FairShares final : public Share {
 public:
  Answer Of(const Books& books) const override;
  // Answer::share alone.
  static std::vector<Resources> SharesOf(const Books& books);
};

// The part of its share that a queue uses, in millionths, of the kind with the largest part.
// kNoShare if it uses a kind of which its share is 0.
constexpr std::int64_t kNoShare = std::int64_t{1} << 62;
std::int64_t DominantPart(const Resources& holds, const Resources& share);

}  // namespace tephra
