// The node's configuration, a YAML file: which devices may be used how (docs/reference/node.md).
//
//   devices:
//     - { model: A100, modes: [mig, whole] }
//     - { index: 7, modes: [mps], mps_clients: 16 }
//     - { index: 6, reserved: true }
#pragma once

#include <string>
#include <vector>

#include "plugins/node/inventory.h"
#include "topology/base/status.h"

namespace tephra::node {

// INVALID_ARGUMENT "node.yaml:3: devices[1].modes: ..." for the first thing that is wrong.
absl::StatusOr<std::vector<DeviceRule>> ReadDeviceRules(const std::string& path);

}  // namespace tephra::node
