// PackingPlan: how many tasks of one role go to each node of a domain, so that the tasks use the
// fewest parts of the domain, and the fewest parts of these parts, down to the nodes.
//
// The largest part is filled first, until the rest fits into one part. The smallest such part takes
// the rest, so larger holes stay whole. A pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ranking.h"
#include "topology/fabric.h"

namespace tephra {

struct NodeShare {
  std::uint32_t rank = 0;
  std::int32_t tasks = 0;
};

// By rank. Places at most `tasks` tasks, fewer if there is less room.
// `domain`: Fabric::kNone means all nodes. REQUIRES: Rankings::WithRoom gave the ranking.
std::vector<NodeShare> PackingPlan(const Hardware& hardware, const Ranking& ranking,
                                   std::uint32_t domain, std::int64_t tasks);

}  // namespace tephra
