// HealthEvents: whom it concerns that GPUs became sick or well: the node, and each pod that holds
// slices of one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/node/binding/books.h"
#include "plugins/node/cluster/events.h"
#include "plugins/node/gpu.h"

namespace tephra::node {

// `before`: the same GPUs as they were; of none, all were well.
std::vector<ClusterEvent> HealthEvents(const std::string& node, const Gpus& before, const Gpus& now,
                                       const std::map<std::string, Holding>& holdings);

}  // namespace tephra::node
