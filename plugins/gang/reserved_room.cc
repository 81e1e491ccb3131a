#include "plugins/gang/reserved_room.h"

#include <algorithm>

#include "engine/gang_ask.h"
#include "engine/kept_place.h"

namespace tephra {

bool ReservedRoom::ForAll(const GangAsk& ask) const {
  return std::all_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
    return std::all_of(role.tasks.begin(), role.tasks.end(),
                       [&](TaskId task) { return snapshot_.task(task).reserved_row.valid(); });
  });
}

std::vector<Placement> ReservedRoom::OfTasks(const GangAsk& ask) const {
  std::vector<Placement> room;
  for (const RoleAsk& role : ask.roles) {
    for (const TaskId id : role.tasks) {
      const TaskId row = snapshot_.task(id).reserved_row;
      if (!row.valid()) continue;
      room.push_back({id, snapshot_.task(row).node, snapshot_.task(row).slices});
    }
  }
  return room;
}

std::vector<Placement> ReservedRoom::Of(const GangAsk& ask) const {
  std::vector<Placement> all;
  for (const RoleRow& role : snapshot_.job(ask.job).roles) {
    for (const TaskId id : role.tasks) {
      const TaskRow& task = snapshot_.task(id);
      if (task.phase != TaskPhase::kPending || !task.reserved_row.valid()) continue;
      const TaskRow& room = snapshot_.task(task.reserved_row);
      all.push_back({id, room.node, room.slices});
    }
  }
  const auto covers = [&](const std::vector<RoleAsk>& roles, std::int32_t least) {
    std::int32_t sum = 0;
    for (const RoleAsk& role : roles) {
      const auto here = static_cast<std::int32_t>(std::count_if(
          all.begin(), all.end(),
          [&](const Placement& one) { return snapshot_.task(one.task).role == role.role; }));
      if (here < role.least) return false;
      sum += here;
    }
    return sum >= least;
  };
  bool enough = covers(ask.roles, ask.least);
  for (std::size_t g = 0; g < ask.groups.size(); ++g) {
    enough = enough && covers(PartOf(ask, g).roles, ask.groups[g].least);
  }
  return enough ? all : std::vector<Placement>{};
}

bool ReservedRoom::IsFree(Workbench& bench, const GangAsk& ask,
                          const std::vector<Placement>& room) const {
  return IsClear(bench, ask, room) && !Denied(bench, ask, room);
}

// Whether the gang's queue may not hold the room by now.
bool ReservedRoom::Denied(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& room) const {
  Ledger& ledger = bench.ledger();
  Resources tried = ledger.occupancy().queue_total(ask.queue);
  {
    Attempt attempt(ledger);
    for (const Placement& one : room) FreeReserved(ledger, snapshot_.task(one.task));
    tried.Add(ledger.occupancy().queue_total(ask.queue), -1);
  }
  return cycle_.policies().entitlement->Deny(ledger, ask.job, Resources{}, tried).has_value();
}

}  // namespace tephra
