// EvictionSearch: the fewest and cheapest victims for a gang, proven where that can be done within
// the budget. See README.md.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class EvictionSearch final : public Eviction {
 public:
  explicit EvictionSearch(std::int32_t budget) : budget_(budget) {}
  bool Possible(const Snapshot&, const GangAsk&) const override;
  std::unique_ptr<Relief> Begin(Workbench& later) const override;

 private:
  std::int32_t budget_;
};

}  // namespace tephra
