// PackingPlan: which nodes of a domain get how many tasks of one role, so that they are on the
// fewest of its parts, and on the fewest parts of those, down to the nodes.
//
// The largest part is filled first, until what is left fits into one part; of those the smallest
// takes it, so that larger holes stay whole.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/framework/ranking.h"
#include "topology/fabric.h"

namespace tephra {

struct NodeShare {
  std::uint32_t rank = 0;
  std::int32_t tasks = 0;
};

// Rising by rank; as many tasks as there is room for, and no more than `tasks`.
// `domain`: Fabric::kNone means all nodes. REQUIRES: Rankings::WithRoom gave the ranking.
std::vector<NodeShare> PackingPlan(const Hardware& hardware, const Ranking& ranking,
                                   std::uint32_t domain, std::int64_t tasks);

}  // namespace tephra
