// One run of the openb experiment: pods come one by one in a given order, each is placed or
// dropped, and the allocation curve is taken; through the same Engine as everything else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/framework/config.h"
#include "simulations/report/curve.h"
#include "simulations/traces/openb.h"
#include "topology/base/status.h"

namespace tephra {

// A policy of the experiment by its published name, e.g. "06-FGD", or a score of ours, which has
// none and is compared with no curve.
struct OpenbPolicy {
  std::string published;
  std::string score;
  bool random = false;  // compared in the mean over seeds only

  const std::string& name() const { return published.empty() ? score : published; }
};
// The published ones.
const std::vector<OpenbPolicy>& OpenbPolicies();

// `expected` is of the original pod list, clones left out.
EngineConfig OpenbConfig(const OpenbPolicy& policy, std::uint64_t seed,
                         std::vector<ExpectedPod> expected);

struct OpenbResult {
  Curve curve;
  std::int64_t pods = 0, placed = 0, dropped = 0;
};

// `nodes` bear the names that settle ties.
absl::StatusOr<OpenbResult> RunOpenb(const std::vector<NodeSpec>& nodes,
                                     std::shared_ptr<const OpenbPods> pods,
                                     std::shared_ptr<const OpenbOrder> order,
                                     const EngineConfig& config);

}  // namespace tephra
