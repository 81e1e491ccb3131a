// One run of the openb experiment: pods are submitted one by one in a given order, each is placed
// or dropped, and the allocation curve is recorded. The run uses the same Engine as all other
// commands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/config.h"
#include "simulations/report/curve.h"
#include "simulations/traces/openb.h"
#include "topology/base/status.h"

namespace tephra {

// A policy of the experiment: one with a published name and curve, e.g. "06-FGD", or another score,
// which has no curve to compare with.
struct OpenbPolicy {
  std::string published;
  std::string score;
  bool random = false;  // compared in the mean over seeds only

  const std::string& name() const { return published.empty() ? score : published; }
};
// The published policies.
const std::vector<OpenbPolicy>& OpenbPolicies();

// `expected` is the distribution of the original pod list, without clones.
EngineConfig OpenbConfig(const OpenbPolicy& policy, std::uint64_t seed,
                         std::vector<ExpectedPod> expected);

struct OpenbResult {
  Curve curve;
  std::int64_t pods = 0, placed = 0, dropped = 0;
};

// The names of `nodes` settle ties.
absl::StatusOr<OpenbResult> RunOpenb(const std::vector<NodeSpec>& nodes,
                                     std::shared_ptr<const OpenbPods> pods,
                                     std::shared_ptr<const OpenbOrder> order,
                                     const EngineConfig& config);

}  // namespace tephra
