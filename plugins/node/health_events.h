// HealthEvents: the events for GPUs that became unhealthy or healthy, one for the node and one for
// each pod that has slices of such a GPU.
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
