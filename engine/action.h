// Action: one pass over the cluster in a cycle. It asks policies, tries on the workbenches of the
// cycle and commits decisions; what it does not commit leaves no trace.
#pragma once

#include <string_view>

#include "engine/cycle.h"

namespace tephra {

class Action {
 public:
  virtual ~Action() = default;
  virtual std::string_view name() const = 0;
  virtual void Run(Cycle& cycle) const = 0;
};

}  // namespace tephra
