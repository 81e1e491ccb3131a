#include "engine/kept_place.h"

#include <algorithm>

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

// What the limits of the class leave on the node, on which a task of the class is counted already; below
// zero if more is taken than there is.
std::int32_t LimitRest(const Ledger& ledger, const TaskClass& cls, NodeId node) {
  const Hardware& hardware = ledger.snapshot().hardware();
  std::int32_t rest = DomainLimit::kNoBound;
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const DomainLimit& limit = cls.pod.limits[i];
    const std::uint32_t domain = hardware.domain(limit.topology_key, node);
    if (domain == Hardware::kNoDomain) continue;
    const BoundedCount& held = ledger.occupancy().limit_count(cls.limits[i], domain);
    const std::int32_t places = PlacesOf(hardware.spec(node), limit.group);
    rest = std::min(rest, limit.of_node() ? places - held.taken() : held.Left(cls.use(i)));
  }
  return rest;
}

}  // namespace

bool IsClear(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& place) {
  return !place.empty() && Together(bench.ledger().snapshot(), ask, place) &&
         std::all_of(place.begin(), place.end(),
                     [&](const Placement& one) { return IsClear(bench, one); });
}

bool IsClear(Workbench& bench, const Placement& place) {
  const Ledger& ledger = bench.ledger();
  const Snapshot& snapshot = ledger.snapshot();
  if (!snapshot.hardware().present(place.node)) return false;
  const ClassId id = snapshot.task(place.task).cls;
  const Misfit misfit = bench.rankings().For(id).misfit(snapshot.hardware().rank(place.node));
  return MayUse(misfit) &&
         bench.policies().fit->Holds(
             ledger.View(place.node), snapshot.cls(id), place.slices,
             LimitRest(ledger, snapshot.cls(id), place.node));
}

}  // namespace tephra
