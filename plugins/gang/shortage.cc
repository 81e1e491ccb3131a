#include "plugins/gang/shortage.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/gang_ask.h"

namespace tephra {
namespace {

// The kind of which the node leaves the smallest part of the demand; GPU before other kinds when
// even.
Kind BindingKind(const TaskClass& cls, const Resources& free) {
  Kind binding = cls.demand[kGpu] > 0 ? kGpu : kCpu;
  double least = 1e300;
  const auto consider = [&](Kind k) {
    const double part = static_cast<double>(free[k]) / static_cast<double>(cls.demand[k]);
    if (part < least) least = part, binding = k;
  };
  if (cls.demand[kGpu] > 0) consider(kGpu);
  for (KindSet kinds = cls.demand_kinds; kinds != 0; kinds &= kinds - 1) {
    consider(static_cast<Kind>(std::countr_zero(kinds)));
  }
  return binding;
}

// Free amount and capacity of the kind over the nodes that the class may use. That is usually all
// nodes, so the totals of the ledger serve. They count an over-committed node below zero; a reason
// never shows a negative amount.
void AddTotals(const Ledger& ledger, const Ranking& ranking, RankSpan within, Reason& reason) {
  const Hardware& hardware = ledger.snapshot().hardware();
  const auto last = std::min(within.last, static_cast<std::uint32_t>(hardware.ranked().size()));
  std::int32_t usable = 0;
  for (int m = 0; m < kMisfits; ++m) {
    if (MayUse(static_cast<Misfit>(m))) usable += reason.nodes[static_cast<std::size_t>(m)];
  }
  if (static_cast<std::size_t>(usable) == hardware.ranked().size()) {
    reason.free_total = std::max<std::int64_t>(ledger.occupancy().free_total()[reason.binding], 0);
    reason.capacity_total = hardware.total()[reason.binding];
    return;
  }
  for (std::uint32_t rank = within.first; rank < last; ++rank) {
    if (!MayUse(ranking.misfit(rank))) continue;
    const NodeId node = hardware.ranked()[rank];
    reason.free_total +=
        std::max<std::int64_t>(ledger.occupancy().node(node).free[reason.binding], 0);
    reason.capacity_total += hardware.capacity(node)[reason.binding];
  }
}

// Tasks that only this role can give: its own minimum, or what the gang's takes beyond the room of
// the others.
std::int64_t LeastOf(Workbench& bench, const GangAsk& ask, const RoleAsk& role, RankSpan within) {
  std::int64_t left = ask.least;
  for (const RoleAsk& other : ask.roles) {
    if (&other == &role) continue;
    left -= std::min(bench.rankings().WithRoom(other.cls).room(within),
                     static_cast<std::int64_t>(other.tasks.size()));
  }
  return std::max<std::int64_t>({role.least, left, 1});
}

// The domain that comes nearest to being enough for a gang that has to be in one, and its span.
RankSpan BestDomain(Workbench& bench, const GangAsk& ask, const RoleAsk& role, Reason& reason) {
  const Snapshot& snapshot = bench.ledger().snapshot();
  const Fabric& fabric = snapshot.hardware().fabric();
  const Ranking& ranking = bench.rankings().WithRoom(role.cls);
  const JobRow& job = snapshot.job(ask.job);
  const Locality& said = ask.group == kNoGroup ? *job.locality : job.groups[ask.group].spec.locality;
  reason.tier = said.highest_tier;
  reason.tier_name = said.highest_tier_name;
  RankSpan best{0, 0};
  std::int64_t most = -1;
  for (const std::uint32_t d : fabric.Widest(ask.highest_tier)) {
    const Fabric::Domain& domain = fabric.domains()[d];
    if (!ask.around.empty() && !domain.span.contains(ask.around)) continue;
    ++reason.domains;
    const std::int64_t room = ranking.room(domain.span);
    if (room > most) most = room, best = domain.span, reason.domain = domain.name;
  }
  return best;
}

// The first of the tasks, by pod, that holds a place of the limit.
const TaskRow* HolderAmong(const Snapshot& snapshot, const std::vector<TaskId>& tasks,
                           LimitId limit) {
  const TaskRow* holder = nullptr;
  for (const TaskId id : tasks) {
    const TaskRow& task = snapshot.task(id);
    const std::vector<LimitId>& limits = snapshot.cls(task.cls).limits;
    if (!task.job.valid() || std::find(limits.begin(), limits.end(), limit) == limits.end()) continue;
    if (holder == nullptr || task.uid < holder->uid) holder = &task;
  }
  return holder;
}

// The first node of the domain with a task that holds a place of the limit.
void AddHolder(const Snapshot& snapshot, LimitId limit, NodeId node, Reason& reason) {
  constexpr std::size_t kMostTasks = 4096;  // that are looked at
  const Hardware& hardware = snapshot.hardware();
  const std::string& key = snapshot.classes().topology_key(limit);
  const bool wide = key != kHostnameKey;
  std::size_t looked_at = 0;
  const auto& running = snapshot.books().tasks_on;
  for (std::uint32_t rank = wide ? 0 : hardware.rank(node); looked_at < kMostTasks; ++rank) {
    if (rank == hardware.ranked().size()) return;
    const NodeId other = hardware.ranked()[rank];
    if (hardware.domain(key, other) == hardware.domain(key, node) && other.index() < running.size()) {
      looked_at += running[other.index()].size();
      const TaskRow* holder = HolderAmong(snapshot, running[other.index()], limit);
      if (holder != nullptr) {
        const JobRow& job = snapshot.job(holder->job);
        reason.holder = job.name;
        reason.holder_node = hardware.spec(other).name;
        reason.holder_preemptible = job.preemptible && holder->preemptible;
        return;
      }
    }
    if (!wide) return;
  }
}

// Which limit of the class allows no more tasks, and a job that holds a place of it.
void AddFullLimit(const Ledger& ledger, const Ranking& ranking, const TaskClass& cls,
                  RankSpan within, Reason& reason) {
  if (reason.nodes[static_cast<std::size_t>(Misfit::kLimit)] == 0) return;
  const Hardware& hardware = ledger.snapshot().hardware();
  std::uint32_t rank = within.first;
  while (ranking.misfit(rank) != Misfit::kLimit) ++rank;
  const NodeId node = hardware.ranked()[rank];
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const std::string& key = ledger.snapshot().classes().topology_key(cls.limits[i]);
    const std::uint32_t domain = hardware.domain(key, node);
    if (domain == Hardware::kNoDomain) continue;
    const BoundedCount& held = ledger.occupancy().limit_count(cls.limits[i], domain);
    if (LeftOf(ledger.facts(), cls, i, held, node) > 0) continue;
    const DomainLimit& limit = cls.pod.limits[i];
    reason.full_group = limit.group;
    if (limit.of_node()) {
      reason.full_node = hardware.spec(node).name;
      reason.places = PlacesOf(hardware.spec(node), limit.group);
      reason.places_taken = held.taken();
      reason.places_asked = held.Asked(cls.use(i));
    }
    return AddHolder(ledger.snapshot(), cls.limits[i], node, reason);
  }
}

}  // namespace

GangAsk Apart(GangAsk ask) {
  ask.around = {0, 0};
  for (GroupAsk& group : ask.groups) group.around = {0, 0};
  return ask;
}

Placer::Answer PlaceInEmpty(Cycle& cycle, const GangAsk& apart) {
  Proofs::Shape shape = Proofs::ShapeOf(apart);
  const auto known = cycle.proofs().empty.find(shape);
  if (known != cycle.proofs().empty.end()) return known->second;
  Attempt attempt(cycle.empty().ledger());
  const Placer::Answer answer = cycle.policies().placer->Place(cycle.empty(), apart);
  cycle.proofs().empty.emplace(std::move(shape), answer);
  return answer;
}

Reason ShortageReason(Workbench& bench, const GangAsk& ask, const Placer::Answer& answer) {
  const Ledger& ledger = bench.ledger();
  if (answer.group_short) {
    const GangAsk part = PartOf(ask, *answer.group_short);
    Reason reason;
    if (answer.groups_placed == 0 && !ask.tied()) {
      Placer::Answer alone = answer.inside.empty() ? answer : answer.inside[0];
      if (answer.inside.empty()) alone.group_short.reset();
      reason = ShortageReason(bench, part, alone);
      if (!reason.group.empty()) return reason;  // of a sub-group inside that one
    } else {
      reason.obstacle = Obstacle::kGroups;
    }
    reason.group = ledger.snapshot().job(ask.job).groups[part.group].spec.name;
    reason.groups_fit = answer.groups_placed;
    for (std::size_t g = 0; g < ask.groups.size(); g = ask.groups[g].end_group) {
      ++reason.groups_needed;
    }
    return reason;
  }
  const RoleAsk& role = ask.roles[static_cast<std::size_t>(answer.role_short)];
  const Ranking& ranking = bench.rankings().WithRoom(role.cls);
  const TaskClass& cls = ledger.snapshot().cls(role.cls);
  Reason reason;
  reason.obstacle = Obstacle::kRoom;
  if (answer.together) reason.obstacle = Obstacle::kTogether;
  if (answer.outcome == Placer::Outcome::kUnknown) reason.obstacle = Obstacle::kSearch;
  reason.role = ledger.snapshot().job(ask.job).roles[role.role].name;
  RankSpan within;
  if (answer.apart) {
    if (answer.outcome != Placer::Outcome::kUnknown) reason.obstacle = Obstacle::kLocality;
    within = BestDomain(bench, ask, role, reason);
  }
  reason.tasks_needed = LeastOf(bench, ask, role, within);
  reason.tasks_fit = ranking.room(within);
  reason.nodes = ranking.NodesByMisfit(within);
  AddFullLimit(ledger, ranking, cls, within, reason);
  const NodeId nearest = ranking.Nearest(ledger.snapshot(), within);
  if (!nearest.valid()) return reason;
  reason.binding = BindingKind(cls, ledger.occupancy().node(nearest).free);
  reason.per_task = cls.demand[reason.binding];
  reason.best_node = ledger.snapshot().hardware().spec(nearest).name;
  reason.best_free =
      std::max<std::int64_t>(ledger.occupancy().node(nearest).free[reason.binding], 0);
  AddTotals(ledger, ranking, within, reason);
  return reason;
}

}  // namespace tephra
