// EvictionSearch: the policy that selects the cheapest victims for a gang, with a proof if the
// budget allows it. See README.md. Immutable; any thread.
#pragma once

#include "engine/policy.h"

namespace tephra {

class EvictionSearch final : public Eviction {
 public:
  explicit EvictionSearch(std::int32_t budget) : budget_(budget) {}
  bool Enabled(const EngineConfig&) const override;
  bool Possible(const Snapshot&, const GangAsk&) const override;
  std::unique_ptr<VictimSelection> Begin(Workbench& later) const override;
  bool HelpsAnywhere(const Books& books) const override;
  Helped HelpedBy(const Books& books, const std::vector<JobId>& evictable) const override;

 private:
  std::int32_t budget_;
};

}  // namespace tephra
