// GroupPlacer: a gang with groups, each of them close together, and all of them as close as the
// gang asks for. README.md has the rule.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"

namespace tephra {

class GroupPlacer final : public Placer {
 public:
  // `one` places what is of one group, or of none. `budget`: its steps, over all domains that are
  // tried.
  GroupPlacer(std::unique_ptr<Placer> one, std::int32_t budget)
      : one_(std::move(one)), budget_(budget) {}
  Answer Place(Workbench&, const GangAsk&) const override;

 private:
  Answer PlaceInside(Workbench&, const GangAsk&) const;

  std::unique_ptr<Placer> one_;
  std::int32_t budget_;
};

}  // namespace tephra
