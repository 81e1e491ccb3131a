// MoveSearch: the policy that selects which tasks migrate, and where to, so that a gang fits. It
// picks the fewest and cheapest migrations. See README.md. Immutable; any thread.
//
// A migration costs the task's GPUs times the work that the task loses plus the restart time.
#pragma once

#include "engine/policy.h"

namespace tephra {

class MoveSearch final : public Eviction {
 public:
  explicit MoveSearch(const MoveSettings& config) : config_(config) {}
  bool Enabled(const EngineConfig&) const override;
  bool Possible(const Snapshot&, const GangAsk&) const override;
  std::unique_ptr<VictimSelection> Begin(Workbench& later) const override;
  bool HelpsAnywhere(const Books& books) const override;
  Helped HelpedBy(const Books& books, const std::vector<JobId>& movable) const override;

 private:
  MoveSettings config_;
};

}  // namespace tephra
