// Who has to go from one node so that so many tasks of a class fit there, the cheapest: exact,
// unless the bound of steps ends first.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/preemption/toll.h"

namespace tephra {

// Tasks on one node that go together or not at all.
struct Piece {
  struct Part {
    ClassId cls;
    const Slices* slices;
  };
  Toll toll;
  std::vector<Part> parts;
  // Alike pieces leave the node alike: it is enough to try them in order.
  std::uint64_t likeness = 0;  // 0: unlike any other
};

struct NodeChoice {
  bool possible = false;
  bool exact = true;
  Toll toll;
  std::vector<std::uint32_t> pieces;  // indexes, rising
};

// REQUIRES: the pieces are sorted, the dearest first, and are charged to the node.
NodeChoice CheapestOnNode(const NodeView& node, const ClassTable& classes, const TaskClass& cls,
                          const std::vector<Piece>& pieces, std::int32_t copies, const Fit& fit);

}  // namespace tephra
