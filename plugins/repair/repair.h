// Repair: gangs that hold slices of unhealthy devices are evicted, so that they start again on
// healthy devices; gangs that stay below their minimum are evicted, so that they start again whole.
// Off unless the configuration asks for it. See README.md.
#pragma once

#include "engine/action.h"

namespace tephra {

class Repair final : public Action {
 public:
  std::string_view name() const override { return "repair"; }
  void Run(Cycle& cycle) const override;
};

}  // namespace tephra
