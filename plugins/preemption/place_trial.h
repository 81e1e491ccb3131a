// PlaceTrial: one node and the counts of the domains that it is in, to try evictions for tasks of one
// class there.
//
// A task stands in the way on the node if it uses room there. It also stands in the way if it holds
// a place of a limit of the class, in the node or in a wider domain that the node is in.
#pragma once

#include <vector>

#include "engine/ledger.h"
#include "engine/policy.h"

namespace tephra {

// A running task that may be evicted.
struct Occupant {
  ClassId cls;
  NodeId node;
  const Slices* slices;
};

class PlaceTrial {
 public:
  PlaceTrial(const Ledger& ledger, ClassId cls, NodeId node);
  // `sign` is +1 or -1.
  void Charge(const Occupant& task, int sign);
  // How many tasks of the class fit.
  std::int32_t Copies(const Fit& fit) const;

 private:
  struct Count {
    LimitId limit;
    std::uint32_t domain = 0;
    std::size_t index = 0;  // of the limit in the class
    BoundedCount held;
  };

  Facts facts_;
  NodeId node_;
  const TaskClass& cls_;
  NodeTrial room_;
  std::vector<Count> counts_;
};

}  // namespace tephra
