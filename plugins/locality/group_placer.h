// GroupPlacer: places a gang with sub-groups. Each sub-group is placed close together, and all of
// them as close as the gang requests. A sub-group with sub-groups is placed like a gang with them.
// README.md has the rule. Immutable; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

class GroupPlacer final : public Placer {
 public:
  // `one` places one sub-group, or the roles of no sub-group. `budget`: steps of `one` over all
  // domains that are tried.
  GroupPlacer(std::unique_ptr<Placer> one, std::int32_t budget)
      : one_(std::move(one)), budget_(budget) {}
  Answer Place(Workbench&, const GangAsk&) const override;

 private:
  Answer PlaceInside(Workbench&, const GangAsk&) const;
  Answer PlacePiece(Workbench&, const GangAsk&) const;

  std::unique_ptr<Placer> one_;
  std::int32_t budget_;
};

}  // namespace tephra
