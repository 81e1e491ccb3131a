#include "plugins/backfill/leeway.h"

#include <algorithm>

namespace tephra {

std::int64_t Leeway::Left(const CountedNeed& need, std::size_t node, std::int64_t most) const {
  for (const CountedRoom::Role& role : then_.roles()) {
    if (!role.eligible[node]) continue;
    const std::int64_t before = then_.free().Copies(role.need, node);
    const auto leaves = [&](std::int64_t tasks) {
      const CountedNeed gone{need.cpu * tasks, need.compute * tasks};
      return before - then_.free().Copies(role.need, node, gone) <= role.spare;
    };
    if (leaves(most)) continue;
    std::int64_t some = 0;  // so many leave enough; `most` do not
    while (most - some > 1) {
      const std::int64_t middle = some + (most - some) / 2;
      (leaves(middle) ? some : most) = middle;
    }
    most = some;
  }
  return most;
}

bool Leeway::MayTake(const CountedNeed& need, NodeId node) const {
  return node.index() < then_.free().nodes() && Left(need, node.index(), 1) == 1;
}

bool Leeway::MayStart(const GangAsk& ask, const std::vector<Placement>& found) const {
  const Snapshot& snapshot = now_.ledger().snapshot();
  const std::vector<NodeId>& ranked = snapshot.hardware().ranked();
  return std::all_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
    const CountedNeed need = NeedOf(snapshot.cls(role.cls));
    std::int64_t left = 0;
    for (const Placement& place : found) left += Left(need, place.node.index(), role.least);
    const Ranking& ranking = now_.rankings().For(role.cls, ask.without);
    for (std::uint32_t rank = 0; rank < ranked.size() && left < role.least; ++rank) {
      if (ranking.Fits(rank)) left += Left(need, ranked[rank].index(), role.least);
    }
    return left >= role.least;
  });
}

}  // namespace tephra
