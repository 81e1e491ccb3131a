#include "plugins/backfill/room_ahead.h"

#include <algorithm>
#include <utility>

#include "plugins/backfill/profile.h"

namespace tephra {

RoomAhead::RoomAhead(const Ledger& ledger)
    : classes_(ledger.snapshot().books().classes),
      now_(ledger.snapshot().now()),
      free_(ledger) {}

std::uint32_t RoomAhead::Add(TimeMs from, TimeMs until, FreeCounts::Taken taken) {
  const auto index = static_cast<std::uint32_t>(held_.size());
  held_.push_back({from, until, std::move(taken)});
  const auto later = [&](TimeMs time, std::uint32_t h) { return time < held_[h].until; };
  const auto after = std::upper_bound(by_until_.begin(), by_until_.end(), until, later);
  by_until_.insert(after, index);
  return index;
}

void RoomAhead::Runs(TimeMs until, FreeCounts::Taken taken) {
  Add(now_, until, std::move(taken));
}

void RoomAhead::Reserve(TimeMs from, TimeMs until, FreeCounts::Taken taken) {
  const std::uint32_t index = Add(from, until, std::move(taken));
  const auto later = [&](TimeMs time, std::uint32_t h) { return time < held_[h].from; };
  const auto after = std::upper_bound(by_from_.begin(), by_from_.end(), from, later);
  by_from_.insert(after, index);
}

RoomAhead::Sweep::Sweep(const RoomAhead& room, const GangAsk& ask, DurationMs run)
    : room_(room), run_(run), free_(room.free_) {
  for (const RoleAsk& role : ask.roles) {
    roles_.push_back({NeedOf(room.classes_[role.cls]), role.least});
    for (std::size_t node = 0; node < free_.nodes(); ++node) {
      roles_.back().room += free_.Copies(roles_.back().need, node);
    }
  }
}

void RoomAhead::Sweep::Move(std::uint32_t index, int sign) {
  const FreeCounts::Taken& taken = room_.held_[index].taken;
  if (taken.node >= free_.nodes()) return;
  for (Role& role : roles_) role.room -= free_.Copies(role.need, taken.node);
  free_.Add(taken, sign);
  for (Role& role : roles_) role.room += free_.Copies(role.need, taken.node);
}

TimeMs RoomAhead::Sweep::Next() {
  const std::vector<Held>& held = room_.held_;
  while (left_ < room_.by_until_.size()) {
    const TimeMs at = held[room_.by_until_[left_]].until;
    if (at == kForever) return kForever;
    const TimeMs until = Until(at, run_);
    while (joined_ < room_.by_from_.size() && held[room_.by_from_[joined_]].from < until) {
      Move(room_.by_from_[joined_++], -1);
    }
    while (left_ < room_.by_until_.size() && held[room_.by_until_[left_]].until == at) {
      Move(room_.by_until_[left_++], +1);
    }
    if (at > room_.now_ && std::all_of(roles_.begin(), roles_.end(), [](const Role& role) {
          return role.room >= role.least;
        })) {
      return at;
    }
  }
  return kForever;
}

}  // namespace tephra
