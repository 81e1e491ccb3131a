// The cheapest evictions on one node that make room for a number of tasks of a class. Exact, unless
// the bound of steps ends the search first. A pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy.h"
#include "plugins/preemption/eviction_cost.h"
#include "plugins/preemption/place_trial.h"

namespace tephra {

// Tasks that are evicted together and stand in the way on one node.
struct Piece {
  EvictionCost cost;
  std::vector<Occupant> parts;
  // Pieces of equal likeness free the same, so the search tries them in order. 0: like no other.
  std::uint64_t likeness = 0;
};

struct NodeChoice {
  bool possible = false;
  bool exact = true;
  EvictionCost cost;
  std::vector<std::uint32_t> pieces;  // indexes, rising
};

// REQUIRES: the pieces are sorted, the most expensive first, and are charged to the node.
NodeChoice CheapestOnNode(const PlaceTrial& node, const std::vector<Piece>& pieces,
                          std::int32_t copies, const Fit& fit);

}  // namespace tephra
