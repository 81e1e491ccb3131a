#include "engine/kept_place.h"

#include <algorithm>
#include <span>

#include "engine/gang_ask.h"
#include "engine/missing.h"

namespace tephra {

bool Serves(const Snapshot& snapshot, const GangAsk& ask, const std::vector<Placement>& place) {
  const auto serves = [&](const std::vector<RoleAsk>& roles, std::int32_t least) {
    std::int32_t all = 0;
    for (const RoleAsk& role : roles) {
      const auto here = std::count_if(place.begin(), place.end(), [&](const Placement& one) {
        const TaskRow& task = snapshot.task(one.task);
        return task.job == ask.job && task.role == role.role && task.phase == TaskPhase::kPending;
      });
      if (here < role.least) return std::int32_t{-1};
      all += static_cast<std::int32_t>(here);
    }
    return all >= least ? all : std::int32_t{-1};
  };
  for (std::size_t g = 0; g < ask.groups.size(); ++g) {
    if (serves(PartOf(ask, g).roles, ask.groups[g].least) < 0) return false;
  }
  return place.size() == static_cast<std::size_t>(ask.least) &&
         serves(ask.roles, ask.least) == ask.least &&
         std::all_of(place.begin(), place.end(),
                     [&](const Placement& one) { return snapshot.hardware().present(one.node); });
}

namespace {

// Places of a node's limit that are left; below zero if more are taken than there are and the gang takes some of
// them.
std::int32_t PlacesLeft(const Ledger& ledger, LimitId limit, const BoundedCount& held, std::int32_t places,
                        NodeId node, std::span<const Placement> gang) {
  const std::int32_t left = places - held.taken();
  if (left >= 0) return left;
  BoundedCount others = held;
  for (const Placement& one : gang) {
    if (one.node != node) continue;
    const TaskClass& cls = ledger.snapshot().cls(ledger.snapshot().task(one.task).cls);
    const auto it = std::find(cls.limits.begin(), cls.limits.end(), limit);
    if (it != cls.limits.end()) others.Add(cls.use(static_cast<std::size_t>(it - cls.limits.begin())), -1);
  }
  return others.taken() == held.taken() ? 0 : left;
}

// What the limits of the class leave on the node of a task, on which the gang is counted already; below zero if
// more is taken than there is.
std::int32_t LimitRest(const Ledger& ledger, const TaskClass& cls, NodeId node, std::span<const Placement> gang) {
  const Hardware& hardware = ledger.snapshot().hardware();
  std::int32_t rest = DomainLimit::kNoBound;
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const DomainLimit& limit = cls.pod.limits[i];
    const std::uint32_t domain = hardware.domain(limit.topology_key, node);
    if (domain == Hardware::kNoDomain) continue;
    const BoundedCount& held = ledger.occupancy().limit_count(cls.limits[i], domain);
    rest = std::min(rest, limit.of_node() ? PlacesLeft(ledger, cls.limits[i], held,
                                                       PlacesOf(hardware.spec(node), limit.group), node, gang)
                                          : held.Left(cls.use(i)));
  }
  return rest;
}

// One task of the gang.
bool IsClear(Workbench& bench, const Placement& place, std::span<const Placement> gang) {
  const Ledger& ledger = bench.ledger();
  const Snapshot& snapshot = ledger.snapshot();
  if (!snapshot.hardware().present(place.node)) return false;
  const ClassId id = snapshot.task(place.task).cls;
  const Misfit misfit = bench.rankings().For(id).misfit(snapshot.hardware().rank(place.node));
  return MayUse(misfit) &&
         bench.policies().fit->Holds(ledger.View(place.node), snapshot.cls(id), place.slices,
                                     LimitRest(ledger, snapshot.cls(id), place.node, gang));
}

}  // namespace

bool IsClear(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& place) {
  return !place.empty() && Together(bench.ledger().snapshot(), ask, place) &&
         std::all_of(place.begin(), place.end(),
                     [&](const Placement& one) { return IsClear(bench, one, place); });
}

bool IsClear(Workbench& bench, const Placement& place) { return IsClear(bench, place, {&place, 1}); }

}  // namespace tephra
