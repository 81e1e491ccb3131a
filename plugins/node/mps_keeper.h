// KeepMpsDaemons: what `tephra-node mps-keeper` does in a pod of its own, so that daemons outlive
// the pod of the plugin.
#pragma once

#include "plugins/node/partition/mps_daemons.h"
#include "topology/base/status.h"

namespace tephra::node {

// Starts daemons as the plugin wants them, and again where one has gone, which it looks for so
// often, until `signals` is readable. Unavailable: the folder of what is wanted cannot be watched.
absl::Status KeepMpsDaemons(const MpsDaemons& daemons, int signals, int look_ms = 10'000);

}  // namespace tephra::node
