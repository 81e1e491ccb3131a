#include "plugins/gang/gang_search.h"

#include <algorithm>

namespace tephra {

GangSearch::GangSearch(Workbench& bench, const GangAsk& ask, std::vector<std::size_t> order,
                       std::int32_t budget)
    : bench_(bench), ask_(ask), order_(std::move(order)), budget_(budget) {}

Placer::Outcome GangSearch::Run() {
  Attempt attempt(bench_.ledger());
  if (Role(0, 0)) {
    attempt.Keep();
    return Placer::Outcome::kPlaced;
  }
  return steps_ > budget_ ? Placer::Outcome::kUnknown : Placer::Outcome::kImpossible;
}

bool GangSearch::Role(std::size_t position, std::int32_t total) {
  if (position == order_.size()) return total == ask_.least;
  return Task(position, 0, total, ask_.within.first);
}

// Too few tasks are left to reach the gang's minimum, or some role has not the room for its own.
bool GangSearch::Hopeless(std::size_t position, std::int32_t placed, std::int32_t total) {
  std::int64_t could = total;
  for (std::size_t p = position; p < order_.size(); ++p) {
    const RoleAsk& role = ask_.roles[order_[p]];
    const std::int32_t already = p == position ? placed : 0;
    const std::int64_t room = bench_.rankings().WithRoom(role.cls, ask_.without).room(ask_.within);
    if (role.least - already > room) return true;
    could += std::min<std::int64_t>(static_cast<std::int64_t>(role.tasks.size()) - already, room);
  }
  return could < ask_.least;
}

// Two nodes are alike if every role of the gang finds the same on them.
bool GangSearch::Alike(NodeId a, NodeId b) {
  const Ledger& ledger = bench_.ledger();
  const NodeView x = ledger.View(a), y = ledger.View(b);
  if (x.row.free != y.row.free || x.capacity != y.capacity ||
      !std::equal(x.spec.devices.begin(), x.spec.devices.end(), y.spec.devices.begin(),
                  y.spec.devices.end(), SameHardware) ||
      !std::equal(x.devices.begin(), x.devices.end(), y.devices.begin(), y.devices.end())) {
    return false;
  }
  const Hardware& hardware = ledger.snapshot().hardware();
  return std::all_of(ask_.roles.begin(), ask_.roles.end(), [&](const RoleAsk& role) {
    const Ranking& ranking = bench_.rankings().For(role.cls, ask_.without);
    const TaskClass& cls = ledger.snapshot().cls(role.cls);
    if (ranking.misfit(hardware.rank(a)) != ranking.misfit(hardware.rank(b))) return false;
    if (cls.names_devices) return false;
    // As many of each group already, as many places, and the same domain of every limit wider than a node.
    return std::all_of(cls.limits.begin(), cls.limits.end(), [&](const LimitId& limit) {
      const std::string& key = ledger.snapshot().classes().topology_key(limit);
      if (key != kHostnameKey) return hardware.domain(key, a) == hardware.domain(key, b);
      const DomainLimit& asked = cls.pod.limits[static_cast<std::size_t>(&limit - cls.limits.data())];
      if (asked.of_node() && PlacesOf(x.spec, asked.group) != PlacesOf(y.spec, asked.group)) return false;
      return ledger.occupancy().limit_count(limit, hardware.domain(key, a)) ==
             ledger.occupancy().limit_count(limit, hardware.domain(key, b));
    });
  });
}

bool GangSearch::Task(std::size_t position, std::int32_t placed, std::int32_t total,
                      std::size_t from_rank) {
  if (steps_ > budget_) return false;
  const RoleAsk& role = ask_.roles[order_[position]];
  if (Hopeless(position, placed, total)) return false;
  std::int32_t later_least = 0;
  for (std::size_t p = position + 1; p < order_.size(); ++p) {
    later_least += ask_.roles[order_[p]].least;
  }
  if (placed >= role.least && Role(position + 1, total)) return true;
  if (placed == static_cast<std::int32_t>(role.tasks.size())) return false;
  if (placed >= role.least && total >= ask_.least - later_least) return false;

  Ledger& ledger = bench_.ledger();
  const auto& ranked = ledger.snapshot().hardware().ranked();
  const std::size_t last = std::min<std::size_t>(ask_.within.last, ranked.size());
  std::vector<NodeId> tried;
  for (std::size_t rank = from_rank; rank < last; ++rank) {
    if (++steps_ > budget_) return false;
    const NodeId node = ranked[rank];
    const auto at = static_cast<std::uint32_t>(rank);
    if (!bench_.rankings().For(role.cls, ask_.without).Fits(at)) continue;
    if (std::any_of(tried.begin(), tried.end(), [&](NodeId t) { return Alike(t, node); })) continue;
    tried.push_back(node);
    const TaskClass& cls = bench_.rankings().ClassOf(role.cls, ask_.without);
    for (Slices& slices : bench_.policies().fit->Options(ledger.View(node), cls)) {
      Attempt attempt(ledger);
      ledger.Charge(role.cls, ask_.queue,
                    {role.tasks[static_cast<std::size_t>(placed)], node, std::move(slices)});
      if (Task(position, placed + 1, total + 1, rank)) {
        attempt.Keep();
        return true;
      }
      if (steps_ > budget_) return false;
    }
  }
  return false;
}

}  // namespace tephra
