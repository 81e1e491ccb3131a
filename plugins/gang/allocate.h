// Allocate: starts what fits beside what runs. First every waiting gang's minimum, in the Order;
// then, when all had their turn, elastic members of gangs that run.
#pragma once

#include "engine/action.h"

namespace tephra {

class Allocate final : public Action {
 public:
  std::string_view name() const override { return "allocate"; }
  void Run(Cycle& cycle) const override;
};

}  // namespace tephra
