#include "plugins/preemption/victim_selector.h"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "engine/gang_ask.h"
#include "plugins/preemption/one_node.h"

namespace tephra {
namespace {

// Of more tasks than this the exact search seldom ends within its budget.
constexpr std::size_t kFewVictims = 64;

}  // namespace

void VictimSelector::Pool::Add(const VictimBook& book, VictimRef ref) {
  allowed.push_back(ref);
  by_node[book.snapshot().task(book.at(ref).task).node].push_back(ref);
}

// For a gang that must run in one domain: searches each domain, the lowest bound first, and takes
// the best answer.
VictimSearch::Answer VictimSelector::Run(const Rules& rules, Pool& pool, GangAsk& ask,
                                         std::int32_t& steps) {
  if (!ask.tied()) return Search(rules, pool, ask, steps);
  const Fabric& fabric = snapshot().hardware().fabric();
  VictimSearch::Answer best;
  std::vector<std::pair<EvictionCost, std::uint32_t>> options;
  GangAsk inside = ask;
  for (const std::uint32_t d : fabric.Widest(ask.highest_tier)) {
    inside.within = fabric.domains()[d].span;
    if (!ask.around.empty() && !inside.within.contains(ask.around)) continue;
    if (const auto bound = LeastCost(pool, inside)) options.emplace_back(*bound, d);
  }
  std::sort(options.begin(), options.end());
  for (const auto& [bound, d] : options) {
    if (best.found && bound >= best.cost) break;
    if (steps > budget_) {
      best.exact = false;
      break;
    }
    inside.within = fabric.domains()[d].span;
    VictimSearch::Answer found = Search(rules, pool, inside, steps);
    const bool exact = best.exact && found.exact;
    if (found.found && (!best.found || found.cost < best.cost)) {
      best = std::move(found);
      ask.within = inside.within;
    }
    best.exact = exact;
  }
  return best;
}

// A lower bound of the cost; none: no eviction helps.
std::optional<EvictionCost> VictimSelector::LeastCost(Pool& pool, const GangAsk& ask) {
  EvictionCost least;
  for (const RoleAsk& role : ask.roles) {
    const std::int32_t need = ask.roles.size() == 1 ? ask.least : role.least;
    const std::int64_t room = later_.rankings().WithRoom(role.cls).room(ask.within);
    if (room >= need) continue;
    const NodeTable::Answer some =
        TableOf(pool, role.cls)
            .Cheapest(later_, book_, need - static_cast<std::int32_t>(room), ask.within);
    if (!some.possible && some.exact) return std::nullopt;
    if (some.possible) least = std::max(least, some.cost);
  }
  return least;
}

NodeTable& VictimSelector::TableOf(Pool& pool, ClassId cls) {
  return pool.tables.try_emplace(cls, cls, pool.by_node, book_).first->second;
}

VictimSearch::Answer VictimSelector::Search(const Rules& rules, Pool& pool, const GangAsk& ask,
                                            std::int32_t& steps) {
  VictimSearch::Answer found = Relax(rules, pool, ask);
  if (!found.exact && rules.hopeless(ask)) found.exact = true;
  if (found.exact) return found;
  const bool one_more = rules.room_alone && OneTaskShort(pool, ask);
  if (one_more) {
    VictimSearch::Answer here = OnOneNode(rules, pool, ask);
    steps += here.steps;
    if (here.exact) return here;
    if (here.found && (!found.found || here.cost < found.cost)) found = std::move(here);
    if (pool.allowed.size() > kFewVictims) return found;
  }
  std::vector<VictimRef> helpful = Helpful(pool, ask);
  const bool some = rules.most_tried > 0 && helpful.size() > rules.most_tried;
  if (some) helpful = LeastUsed(pool, std::move(helpful), rules.most_tried);
  VictimSearch search(
      later_.ledger(), book_, rules.sets, std::move(helpful), [&] { return rules.fits(ask); },
      StepsOfATry(pool, ask), budget_);
  found = search.Run(std::move(found));
  found.exact = found.exact && !some;
  steps += found.steps;
  return found;
}

// A task with a limit that is wider than a node looks at all nodes again in each try.
std::int32_t VictimSelector::StepsOfATry(Pool& pool, const GangAsk& ask) {
  constexpr std::size_t kNodesOfAStep = 64;
  const bool wide = std::any_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
    return TableOf(pool, role.cls).wide();
  });
  const std::size_t looks = wide ? snapshot().hardware().ranked().size() / kNodesOfAStep : 0;
  return std::max(ask.least, 1) + static_cast<std::int32_t>(looks);
}

// Whether room for one more task is all that the gang lacks.
bool VictimSelector::OneTaskShort(Pool& pool, const GangAsk& ask) {
  if (ask.roles.size() != 1 || !ask.groups.empty()) return false;
  if (!TableOf(pool, ask.roles[0].cls).complete()) return false;
  return later_.rankings().WithRoom(ask.roles[0].cls).room(ask.within) == ask.least - 1;
}

VictimSearch::Answer VictimSelector::OnOneNode(const Rules& rules, Pool& pool, const GangAsk& ask) {
  OneNode search(
      later_, book_, rules.sets, ask.roles[0].cls,
      [&](std::vector<VictimRef>& victims) { return Complete(pool, victims); },
      [&] { return rules.fits(ask); }, budget_);
  return search.Run(TableOf(pool, ask.roles[0].cls).Options(later_, book_, ask.within));
}

// The victims that may make room: for a gang in one domain only jobs in that domain and jobs that hold
// places of its limits, unless the gang's queue is what limits it.
std::vector<VictimRef> VictimSelector::Helpful(const Pool& pool, const GangAsk& ask) const {
  std::vector<VictimRef> helpful;
  std::set<std::uint32_t> inside;  // candidates
  const bool anywhere = ask.within.everywhere() ||
                        later_.policies().entitlement->Deny(
                            later_.ledger(), ask.job, LeastDemand(snapshot(), ask), Resources{});
  const Hardware& hardware = snapshot().hardware();
  for (const auto& [node, refs] : pool.by_node) {
    if (anywhere || !ask.within.contains(hardware.rank(node))) continue;
    for (const VictimRef ref : refs) inside.insert(ref.candidate);
  }
  std::set<LimitId> limits;
  for (const RoleAsk& role : ask.roles) {
    const std::vector<LimitId>& of_role = snapshot().cls(role.cls).limits;
    limits.insert(of_role.begin(), of_role.end());
  }
  for (const VictimRef ref : pool.allowed) {
    if (limits.empty() || anywhere) break;
    const std::vector<LimitId>& held = snapshot().cls(snapshot().task(book_.at(ref).task).cls).limits;
    const bool holds =
        std::any_of(held.begin(), held.end(), [&](LimitId limit) { return limits.contains(limit); });
    if (holds) inside.insert(ref.candidate);
  }
  std::copy_if(pool.allowed.begin(), pool.allowed.end(), std::back_inserter(helpful),
               [&](VictimRef ref) {
                 return !book_.at(ref).evicted && (anywhere || inside.contains(ref.candidate));
               });
  return helpful;
}

// The tasks on the nodes that victims use least: whole jobs, about `most` tasks.
std::vector<VictimRef> VictimSelector::LeastUsed(const Pool& pool, std::vector<VictimRef> refs,
                                                 std::size_t most) const {
  std::vector<std::tuple<std::int64_t, std::uint32_t, NodeId>> nodes;
  for (const auto& [node, here] : pool.by_node) {
    std::int64_t used = 0;
    for (const VictimRef ref : here) used += book_.at(ref).holds[kGpu];
    nodes.emplace_back(used, snapshot().hardware().rank(node), node);
  }
  std::sort(nodes.begin(), nodes.end());
  std::set<std::uint32_t> candidates;
  std::size_t count = 0;
  for (const auto& [used, rank, node] : nodes) {
    for (const VictimRef ref : pool.by_node.at(node)) {
      if (candidates.insert(ref.candidate).second) count += book_.of(ref).left;
    }
    if (count >= most) break;
  }
  std::erase_if(refs, [&](VictimRef ref) { return !candidates.contains(ref.candidate); });
  return refs;
}

// The relaxation: each role and each node separately. The answer is exact if its cost equals the
// bound. Otherwise it is a solution to start from, or none.
VictimSearch::Answer VictimSelector::Relax(const Rules& rules, Pool& pool, const GangAsk& ask) {
  VictimSearch::Answer answer;
  answer.exact = false;
  std::vector<VictimRef> victims;
  EvictionCost bound;
  bool exact = true;
  {
    Attempt attempt(later_.ledger());
    std::int32_t open = ask.least;
    for (const RoleAsk& role : ask.roles) open -= role.least;
    for (const RoleAsk& role : ask.roles) {
      const std::int32_t rest =
          std::min(open, static_cast<std::int32_t>(role.tasks.size()) - role.least);
      open -= rest;
      const std::int32_t need = role.least + rest;
      const std::int64_t room = later_.rankings().WithRoom(role.cls).room(ask.within);
      if (room < need) {
        const NodeTable::Answer some =
            TableOf(pool, role.cls)
                .Cheapest(later_, book_, need - static_cast<std::int32_t>(room), ask.within);
        exact = exact && some.exact;
        if (!some.possible) {
          answer.exact = ask.roles.size() == 1 && some.exact;
          return answer;
        }
        bound += some.cost;
        for (const VictimRef ref : some.victims) {
          later_.ledger().Free(book_.at(ref).task);
          victims.push_back(ref);
        }
      }
      if (ask.roles.size() == 1) break;
      // Places this role, so that the next role finds what is left.
      GangAsk one = ask;
      one.roles = {role};
      one.groups.clear();
      one.least = need;
      one.roles[0].least = need;
      if (later_.policies().placer->Place(later_, one).outcome != Placer::Outcome::kPlaced) {
        return answer;
      }
    }
  }
  if (!Complete(pool, victims)) return answer;
  if (!rules.sets.may_evict_all(victims) || !rules.sets.covers(victims)) return answer;
  Attempt attempt(later_.ledger());
  for (const VictimRef ref : victims) later_.ledger().Free(book_.at(ref).task);
  if (rules.fits(ask) != VictimSearch::Fits::kYes) return answer;
  answer.found = true;
  answer.cost = book_.CostOf(victims);
  answer.exact = exact && ask.roles.size() == 1 && answer.cost == bound;
  answer.victims = std::move(victims);
  return answer;
}

// Adds the rest of each gang that the victims break. False if the rest may not be evicted.
bool VictimSelector::Complete(const Pool& pool, std::vector<VictimRef>& victims) const {
  std::sort(victims.begin(), victims.end());
  victims.erase(std::unique(victims.begin(), victims.end()), victims.end());
  std::vector<VictimRef> all;
  for (std::size_t i = 0; i < victims.size();) {
    const std::size_t end = EndOfJob(victims, i);
    const auto of_one = std::span(victims).subspan(i, end - i);
    const std::uint32_t c = victims[i].candidate;
    if (const Candidate& candidate = book_.of(victims[i]); book_.Breaks(of_one) && !candidate.alone) {
      const auto begin =
          std::lower_bound(pool.allowed.begin(), pool.allowed.end(), VictimRef{c, 0});
      std::uint32_t left = 0;
      for (auto it = begin; it != pool.allowed.end() && it->candidate == c; ++it) {
        if (book_.at(*it).evicted) continue;
        all.push_back(*it);
        ++left;
      }
      if (!candidate.whole || left != candidate.left) return false;
    } else {
      all.insert(all.end(), of_one.begin(), of_one.end());
    }
    i = end;
  }
  victims = std::move(all);
  return true;
}

}  // namespace tephra
