// Show: the GPUs that the driver of this machine reports, and what would be published to the cluster.
// For operators who set up a node.
#pragma once

#include <string>

#include "plugins/node/inventory.h"
#include "plugins/node/nvml/nvml.h"
#include "topology/base/status.h"

namespace tephra::node {

// In words, for people. It changes nothing.
absl::StatusOr<std::string> ShowDriver(const Nvml& nvml, const NodeConfig& config);

}  // namespace tephra::node
