#include "plugins/backfill/standing_room.h"

#include <algorithm>
#include <utility>

namespace tephra {

StandingRoom::Basis StandingRoom::BasisOf(const Snapshot& snapshot, const GangAsk& ask) {
  Basis basis{ask.within, ask.without, {}};
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
  if (at == kNow) return;
  for (const TaskId id : snapshot.books().tasks_on[node.index()]) {
    const TaskRow& task = snapshot.task(id);
    const bool gone = task.leaves() ||
                      (task.expected_end != 0 && task.expected_end <= at);
    if (gone) free.Add(TakenBy(snapshot.hardware(), snapshot.cls(task.cls), node, task.slices), +1);
  }
}

// Counts the nodes again that changed since the last call, or on which something goes in between.
void StandingRoom::Renew(Workbench& now, const GangAsk& ask, TimeMs at) {
  const Snapshot& snapshot = now.ledger().snapshot();
  renewed_.resize(snapshot.hardware().slots());
  ++renewals_;
  const auto renew = [&](NodeId node) {
    if (!snapshot.hardware().present(node)) return;
    if (std::exchange(renewed_[node.index()], renewals_) == renewals_) return;
    room_->Renew(now, ask, node, [&](FreeCounts& free) { Show(snapshot, node, at, free); });
  };
  for (const NodeId node : room_->TakeTouched()) renew(node);
  snapshot.occupancy().node_log().EachSince(seen_, renew);
  if (at == at_) return;
  const Timeline::Ends& ends = snapshot.books().timeline.ends();
  const auto [first, last] = std::minmax(at_, at);
  for (auto end = ends.lower_bound({first, TaskId(0)}); end != ends.end() && end->first <= last;
       ++end) {
    renew(snapshot.task(end->second).node);
  }
  if (first != kNow) return;
  for (const TaskId task : snapshot.books().releasing) renew(snapshot.task(task).node);
}

void StandingRoom::MovedTo(TimeMs at) {
  room_->TakeTouched();
  at_ = at;
}

CountedRoom& StandingRoom::At(Workbench& now, const GangAsk& ask, TimeMs at) {
  const Snapshot& snapshot = now.ledger().snapshot();
  const auto& log = snapshot.occupancy().node_log();
  if (at <= snapshot.now()) at = kNow;
  Basis basis = BasisOf(snapshot, ask);
  const std::uint64_t hardware = snapshot.hardware().version();
  const std::uint64_t config = snapshot.books().config_version;
  if (room_ && hardware == hardware_ && config == config_ && log.Covers(seen_)) {
    // Rankings that leave out models last for one cycle.
    const bool same = ask.without == 0 && basis_ == basis;
    if (!same) room_->AskFor(now, GangAsk{});
    Renew(now, ask, at);
    if (!same) room_->AskFor(now, ask);
  } else {
    FreeCounts free(snapshot.hardware(), snapshot.occupancy());
    for (const NodeId node : snapshot.hardware().ranked()) Show(snapshot, node, at, free);
    room_.emplace(now, ask, std::move(free));
  }
  basis_ = std::move(basis);
  at_ = at;
  hardware_ = hardware;
  config_ = config;
  seen_ = log.end();
  return *room_;
}

}  // namespace tephra
