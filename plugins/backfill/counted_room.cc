#include "plugins/backfill/counted_room.h"

#include <algorithm>
#include <utility>

namespace tephra {

CountedRoom::CountedRoom(Workbench& bench, const GangAsk& ask, FreeCounts free)
    : free_(std::move(free)) {
  const Snapshot& snapshot = bench.ledger().snapshot();
  const std::vector<NodeId>& ranked = snapshot.hardware().ranked();
  for (const RoleAsk& one : ask.roles) {
    Role& role = roles_.emplace_back(
        Role{NeedOf(snapshot.cls(one.cls)), -one.least, std::vector<bool>(free_.nodes())});
    const Ranking& ranking = bench.rankings().For(one.cls, ask.without);
    for (std::uint32_t rank = 0; rank < ranked.size(); ++rank) {
      if (!ask.within.contains(rank) || !MayUse(ranking.misfit(rank))) continue;
      role.eligible[ranked[rank].index()] = true;
      role.spare += free_.Copies(role.need, ranked[rank].index());
    }
  }
}

void CountedRoom::Add(const FreeCounts::Taken& taken, int sign) {
  if (taken.node >= free_.nodes()) return;
  const auto count = [&](std::int64_t by) {
    for (Role& role : roles_) {
      if (role.eligible[taken.node]) role.spare += by * free_.Copies(role.need, taken.node);
    }
  };
  count(-1);
  free_.Add(taken, sign);
  count(+1);
}

bool CountedRoom::MayFit() const {
  return std::all_of(roles_.begin(), roles_.end(), [](const Role& role) { return role.spare >= 0; });
}

}  // namespace tephra
