#include "plugins/backfill/standing_room.h"

#include <utility>

namespace tephra {

StandingRoom::Basis StandingRoom::BasisOf(const Snapshot& snapshot, const GangAsk& ask, TimeMs at) {
  Basis basis{at, snapshot.hardware().version(), snapshot.books().config_version,
              ask.within, ask.without, {}};
  for (const RoleAsk& role : ask.roles) {
    const std::string& name = snapshot.cls(role.cls).pod.constraints.mask;
    const Mask* const mask = name.empty() ? nullptr : snapshot.books().masks.Find(name);
    basis.roles.push_back({role.cls, snapshot.classes().generation(role.cls), role.least,
                           mask == nullptr ? 0 : mask->serial(),
                           mask == nullptr ? 0 : mask->log().end()});
  }
  return basis;
}

void StandingRoom::Show(const Snapshot& snapshot, NodeId node, TimeMs at, FreeCounts& free) {
  free.Load(snapshot.hardware(), snapshot.occupancy(), node);
  for (const TaskId id : snapshot.books().tasks_on[node.index()]) {
    const TaskRow& task = snapshot.task(id);
    const bool gone = task.phase == TaskPhase::kReleasing ||
                      (task.expected_end != 0 && task.expected_end <= at);
    if (gone) free.Add(TakenBy(snapshot.hardware(), snapshot.cls(task.cls), node, task.slices), +1);
  }
}

CountedRoom& StandingRoom::At(Workbench& now, const GangAsk& ask, TimeMs at) {
  const Snapshot& snapshot = now.ledger().snapshot();
  const auto& log = snapshot.occupancy().node_log();
  Basis basis = BasisOf(snapshot, ask, at);
  const auto renew = [&](NodeId node) {
    if (!snapshot.hardware().present(node)) return;
    room_->Renew(now, ask, node, [&](FreeCounts& free) { Show(snapshot, node, at, free); });
  };
  // Rankings that leave out models last for one cycle.
  if (ask.without == 0 && room_ && basis_ == basis && log.Covers(seen_)) {
    for (const NodeId node : room_->TakeTouched()) renew(node);
    log.EachSince(seen_, renew);
  } else {
    FreeCounts free(snapshot.hardware(), snapshot.occupancy());
    for (const NodeId node : snapshot.hardware().ranked()) Show(snapshot, node, at, free);
    room_.emplace(now, ask, std::move(free));
    basis_ = std::move(basis);
  }
  seen_ = log.end();
  return *room_;
}

}  // namespace tephra
