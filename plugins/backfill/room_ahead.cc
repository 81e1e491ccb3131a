#include "plugins/backfill/room_ahead.h"

#include <algorithm>
#include <limits>

#include "plugins/backfill/profile.h"

namespace tephra {

RoomAhead::RoomAhead(const Ledger& ledger)
    : hardware_(ledger.snapshot().hardware()),
      classes_(ledger.snapshot().books().classes),
      now_(ledger.snapshot().now()) {
  for (const NodeId id : hardware_.ranked()) {
    if (id.index() >= cpu_.size()) {
      cpu_.resize(id.index() + 1);
      compute_.resize(id.index() + 1);
    }
    cpu_[id.index()] = ledger.occupancy().node(id).free[kCpu];
    const NodeView view = ledger.occupancy().View(hardware_, id);
    const std::size_t first = hardware_.first_device(id);
    if (first + view.devices.size() > device_.size()) device_.resize(first + view.devices.size());
    for (std::size_t i = 0; i < view.devices.size(); ++i) {
      const std::int64_t free = view.devices[i].free_compute;
      device_[first + i] = free;
      compute_[id.index()] += std::max<std::int64_t>(free, 0);
    }
  }
}

std::uint32_t RoomAhead::Add(TimeMs from, TimeMs until, const TaskClass& cls,
                             const Placement& where) {
  const auto index = static_cast<std::uint32_t>(held_.size());
  const auto first = static_cast<std::uint32_t>(parts_.size());
  const bool present = hardware_.present(where.node);
  scratch_.clear();
  if (present) DeviceCharges(cls, where.slices, hardware_.mig(where.node), scratch_);
  for (const DeviceCharge& charge : scratch_) {
    if (charge.device >= hardware_.device_count(where.node)) continue;
    const std::size_t device = hardware_.first_device(where.node) + charge.device;
    parts_.push_back({static_cast<std::uint32_t>(device), charge.compute});
  }
  held_.push_back({from, until, static_cast<std::uint32_t>(where.node.index()),
                   present ? cls.demand[kCpu] : 0, first,
                   static_cast<std::uint32_t>(parts_.size())});
  const auto later = [&](TimeMs time, std::uint32_t h) { return time < held_[h].until; };
  const auto after = std::upper_bound(by_until_.begin(), by_until_.end(), until, later);
  by_until_.insert(after, index);
  return index;
}

void RoomAhead::Runs(TimeMs until, const TaskClass& cls, const Placement& where) {
  Add(now_, until, cls, where);
}

void RoomAhead::Reserve(TimeMs from, TimeMs until, const TaskClass& cls, const Placement& where) {
  const std::uint32_t index = Add(from, until, cls, where);
  const auto later = [&](TimeMs time, std::uint32_t h) { return time < held_[h].from; };
  const auto after = std::upper_bound(by_from_.begin(), by_from_.end(), from, later);
  by_from_.insert(after, index);
}

RoomAhead::Sweep::Sweep(const RoomAhead& room, const GangAsk& ask, DurationMs run)
    : room_(room), run_(run), cpu_(room.cpu_), compute_(room.compute_), device_(room.device_) {
  for (const RoleAsk& role : ask.roles) {
    const Resources& demand = room.classes_[role.cls].demand;
    roles_.push_back({demand[kCpu], demand[kGpu], role.least});
    for (std::size_t node = 0; node < cpu_.size(); ++node) {
      roles_.back().room += CopiesOn(roles_.back(), node);
    }
  }
}

std::int64_t RoomAhead::Sweep::CopiesOn(const Role& role, std::size_t node) const {
  std::int64_t copies = std::numeric_limits<std::int32_t>::max();
  if (role.cpu > 0) copies = std::min(copies, std::max<std::int64_t>(cpu_[node], 0) / role.cpu);
  if (role.compute > 0) copies = std::min(copies, compute_[node] / role.compute);
  return copies;
}

void RoomAhead::Sweep::Move(std::uint32_t index, int sign) {
  const Held& held = room_.held_[index];
  if (held.node >= cpu_.size()) return;
  for (Role& role : roles_) role.room -= CopiesOn(role, held.node);
  cpu_[held.node] += sign * held.cpu;
  for (std::uint32_t p = held.first; p < held.last; ++p) {
    std::int64_t& free = device_[room_.parts_[p].device];
    const std::int64_t before = std::max<std::int64_t>(free, 0);
    free += sign * room_.parts_[p].compute;
    compute_[held.node] += std::max<std::int64_t>(free, 0) - before;
  }
  for (Role& role : roles_) role.room += CopiesOn(role, held.node);
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
