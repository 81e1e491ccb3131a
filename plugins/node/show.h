// Show: what the driver of this machine tells of its GPUs, and what the cluster would be told. For
// whoever sets a node up.
#pragma once

#include <string>

#include "plugins/node/inventory.h"
#include "plugins/node/nvml/nvml.h"
#include "topology/base/status.h"

namespace tephra::node {

// In words, for people. It changes nothing.
absl::StatusOr<std::string> ShowDriver(const Nvml& nvml, const NodeConfig& config);

}  // namespace tephra::node
