// GangSearch: is there any placement of the gang beside what is charged? Depth first over roles,
// nodes and slices, with equal nodes tried once and each role's nodes in rising order.
//
// Exact unless the budget of steps (nodes looked at) ends first.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

class GangSearch {
 public:
  // `order`: indexes into ask.roles, hardest first.
  GangSearch(Workbench& bench, const GangAsk& ask, std::vector<std::size_t> order,
             std::int32_t budget);
  // kPlaced leaves the placement charged.
  Placer::Outcome Run();
  std::int32_t steps() const { return steps_; }

 private:
  bool Role(std::size_t position, std::int32_t placed_before);
  bool Task(std::size_t position, std::int32_t placed, std::int32_t total, std::size_t from_rank);
  bool Hopeless(std::size_t position, std::int32_t placed, std::int32_t total);
  bool Alike(NodeId a, NodeId b);

  Workbench& bench_;
  const GangAsk& ask_;
  std::vector<std::size_t> order_;
  std::int32_t budget_;
  std::int32_t steps_ = 0;
};

}  // namespace tephra
