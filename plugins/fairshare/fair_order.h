// FairOrder: whose turn it is. From the top of the queue tree down, the queue of higher priority,
// then one whose next job stays within its fair share, then the one that has the smallest part of
// its share, then the one whose name sorts first; in a queue the job of higher priority, then,
// where past usage counts, that of the user who used less of the cluster, then the one that has
// less left where jobs go by that (EngineConfig::job_order), then the one that waits longer, then
// the smaller uid.
//
// What a queue gets counts at once: after each job that is placed its queues are weighed anew, as
// in dominant resource fairness (Ghodsi et al., NSDI 2011, and hierarchically, Bhattacharya et al.,
// SoCC 2013). The shares themselves are those of the cycle's beginning.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class FairOrder final : public Order {
 public:
  bool Before(const Snapshot&, JobId a, JobId b) const override;
  std::unique_ptr<Line> LineUp(const Ledger&, const std::vector<JobId>& sorted) const override;
};

}  // namespace tephra
