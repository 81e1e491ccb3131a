#include "plugins/backfill/counted_room.h"

#include <algorithm>
#include <utility>

namespace tephra {

void CountedRoom::AskFor(Workbench& bench, const GangAsk& ask) {
  roles_.clear();
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

bool CountedRoom::Eligible(Workbench& bench, const GangAsk& ask, const RoleAsk& role, NodeId node) {
  const std::uint32_t rank = bench.ledger().snapshot().hardware().rank(node);
  return ask.within.contains(rank) &&
         MayUse(bench.rankings().For(role.cls, ask.without).misfit(rank));
}

void CountedRoom::Count(NodeId node, int sign) {
  for (Role& role : roles_) {
    if (role.eligible[node.index()]) role.spare += sign * free_.Copies(role.need, node.index());
  }
}

void CountedRoom::Add(const FreeCounts::Taken& taken, int sign) {
  if (taken.node >= free_.nodes()) return;
  const NodeId node(taken.node);
  touched_.push_back(node);
  Count(node, -1);
  free_.Add(taken, sign);
  Count(node, +1);
}

bool CountedRoom::MayFit() const {
  return std::all_of(roles_.begin(), roles_.end(), [](const Role& role) { return role.spare >= 0; });
}

}  // namespace tephra
