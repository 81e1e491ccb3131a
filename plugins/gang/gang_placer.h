// GangPlacer: a gang's tasks placed all together or not at all.
//
// First one by one, hardest roles first, each on its best node. Where that fails although each
// role has room, an exact search decides, within a count of steps. See README.md.
#pragma once

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

class GangPlacer final : public Placer {
 public:
  explicit GangPlacer(std::int32_t search_budget) : search_budget_(search_budget) {}
  Answer Place(Workbench&, const GangAsk&) const override;

 private:
  std::int32_t search_budget_;
};

}  // namespace tephra
