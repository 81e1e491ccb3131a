// MoveSearch: the fewest and cheapest tasks that have to move, and where to, so that a gang fits
// beside them. See README.md.
//
// What a move costs: the task's GPUs times the work that it loses and what a restart takes.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class MoveSearch final : public Eviction {
 public:
  explicit MoveSearch(const Consolidation& config) : config_(config) {}
  bool Possible(const Snapshot&, const GangAsk&) const override;
  std::unique_ptr<Relief> Begin(Workbench& later) const override;

 private:
  Consolidation config_;
};

}  // namespace tephra
