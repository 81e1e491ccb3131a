#include "plugins/preemption/eviction_search.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/framework/entitled.h"
#include "plugins/framework/gang_ask.h"
#include "plugins/framework/workbench.h"
#include "plugins/preemption/node_table.h"
#include "plugins/preemption/victim_book.h"
#include "plugins/preemption/victim_search.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// If not, nobody waits for room either that is being left.
bool Evicts(const EngineConfig& config) {
  return config.enables("reclaim") || config.enables("preempt");
}

// Whom gangs with the same rights may have evicted.
struct Reach {
  std::vector<KindSet> over;        // VictimBook::OverIn when it was made
  std::vector<VictimRef> takeable;  // sorted; some may be gone since
  VictimsByNode by_node;
  std::map<ClassId, NodeTable> tables;
};

class SearchRelief final : public Relief {
 public:
  SearchRelief(Workbench& later, std::int32_t budget)
      : later_(later), book_(later), budget_(budget) {}

  void Placed(JobId job) override { book_.Placed(job); }

  Answer MakeRoom(const GangAsk& ask) override {
    Answer answer;
    answer.anybody = false;
    if (!Evicts(book_.snapshot().config())) return answer;
    const bool leaving = evicted_ || !book_.snapshot().books().releasing.empty();
    if (leaving && Place(ask, true) == VictimSearch::Fits::kYes) {
      book_.Placed(ask.job);
      answer.outcome = Outcome::kPlaced;
      return answer;
    }
    if (!AnybodyFor(book_.snapshot(), ask)) return answer;
    const Rights by_share = book_.RightsOf(ask, Ground::kShare);
    answer.over = by_share.over;
    answer.binding = by_share.over_kind;
    answer.share = by_share.over_share;
    answer.holds = by_share.over_holds;
    answer.asked = by_share.over_asked;
    GangAsk where = ask;
    VictimSearch::Answer found = SearchDomains(by_share, where, answer);
    bool exact = found.exact;
    if (!found.found) {
      const Rights by_promise = book_.RightsOf(ask, Ground::kPromise);
      if (by_promise.levels > 0) found = SearchDomains(by_promise, where, answer);
      exact = exact && found.exact;
    }
    if (!found.found) {
      if (answer.anybody) answer.over = QueueId();  // there were some, and they were not enough
      answer.anybody =
          answer.anybody || (answer.over.valid() && AnybodyBeside(book_.snapshot(), ask.queue));
      answer.outcome = exact ? Outcome::kImpossible : Outcome::kUnknown;
      return answer;
    }
    answer.fewest = exact;
    Evict(where, found.victims, answer);
    return answer;
  }

 private:
  // The gang on the ledger, which is left as it was unless `keep` and it fits.
  VictimSearch::Fits Place(const GangAsk& ask, bool keep) {
    Ledger& ledger = later_.ledger();
    const Entitlement& entitlement = *later_.policies().entitlement;
    if (entitlement.Deny(ledger, ask.job, LeastDemand(book_.snapshot(), ask), Resources{})) {
      return VictimSearch::Fits::kNo;
    }
    Attempt attempt(ledger);
    const Entitled tried = PlaceEntitled(later_, ask, [&](const GangAsk& trial) {
      return later_.policies().placer->Place(later_, trial);
    });
    const bool unknown = tried.answer.outcome == Placer::Outcome::kUnknown;
    if (tried.maybe_elsewhere || (unknown && !tried.denied)) return VictimSearch::Fits::kUnknown;
    if (tried.answer.outcome != Placer::Outcome::kPlaced) return VictimSearch::Fits::kNo;
    if (keep) attempt.Keep();
    return VictimSearch::Fits::kYes;
  }

  // The same for a gang that has to be in one domain: the best of all domains, each by itself,
  // those first where it may cost least. `ask` is told in which.
  VictimSearch::Answer SearchDomains(Rights rights, GangAsk& ask, Answer& answer) {
    if (!ask.tied()) return Search(ask, rights, answer);
    const Fabric& fabric = book_.snapshot().hardware().fabric();
    VictimSearch::Answer best;
    if (!book_.AnyFor(rights)) return best;
    Reach& reach = ReachOf(rights);
    if (reach.takeable.empty()) return best;
    answer.anybody = true;
    book_.Weigh(rights, reach.takeable);
    std::vector<std::pair<Toll, std::uint32_t>> options;
    GangAsk inside = ask;
    for (const std::uint32_t d : fabric.Widest(ask.highest_tier)) {
      inside.within = fabric.domains()[d].span;
      if (!ask.around.empty() && !inside.within.contains(ask.around)) continue;
      if (const auto bound = LeastToll(inside, reach)) options.emplace_back(*bound, d);
    }
    std::sort(options.begin(), options.end());
    for (const auto& [bound, d] : options) {
      if (best.found && bound >= best.toll) break;
      if (answer.steps > budget_) {
        best.exact = false;
        break;
      }
      inside.within = fabric.domains()[d].span;
      VictimSearch::Answer found = Search(inside, rights, answer);
      const bool exact = best.exact && found.exact;
      if (found.found && (!best.found || found.toll < best.toll)) {
        best = std::move(found);
        ask.within = inside.within;
      }
      best.exact = exact;
    }
    return best;
  }

  // What evictions for the gang cost at the least; none: they do not help.
  std::optional<Toll> LeastToll(const GangAsk& ask, Reach& reach) {
    Toll least;
    for (const RoleAsk& role : ask.roles) {
      const std::int32_t need = ask.roles.size() == 1 ? ask.least : role.least;
      const std::int64_t room = later_.rankings().WithRoom(role.cls).room(ask.within);
      if (room >= need) continue;
      const NodeTable::Answer some =
          TableOf(reach, role.cls)
              .Cheapest(later_, book_, need - static_cast<std::int32_t>(room), ask.within);
      if (!some.possible) return std::nullopt;
      least = std::max(least, some.toll);
    }
    return least;
  }

  NodeTable& TableOf(Reach& reach, ClassId cls) {
    return reach.tables.try_emplace(cls, cls, reach.by_node, book_.snapshot()).first->second;
  }

  // The best victims that these rights allow; `answer` hears of the search.
  VictimSearch::Answer Search(const GangAsk& ask, Rights rights, Answer& answer) {
    VictimSearch::Answer found;
    if (!book_.AnyFor(rights)) return found;
    Reach& reach = ReachOf(rights);
    if (reach.takeable.empty()) return found;
    answer.anybody = true;
    book_.Weigh(rights, reach.takeable);
    found = Relax(ask, rights, reach);
    if (!found.exact && Hopeless(ask, rights, reach)) found.exact = true;
    if (!found.exact) {
      VictimSearch search(
          later_.ledger(), book_, rights, Helpful(ask, reach), [&] { return Place(ask, false); },
          std::max(ask.least, 1), budget_);
      found = search.Run(std::move(found));
      answer.steps += found.steps;
    }
    return found;
  }

  // Those whose leaving may make room: of a gang's own domain, unless its queue is what binds it.
  std::vector<VictimRef> Helpful(const GangAsk& ask, const Reach& reach) const {
    std::vector<VictimRef> helpful;
    std::set<std::uint32_t> inside;  // candidates
    const bool anywhere =
        ask.within.everywhere() ||
        later_.policies().entitlement->Deny(later_.ledger(), ask.job,
                                            LeastDemand(book_.snapshot(), ask), Resources{});
    const Hardware& hardware = book_.snapshot().hardware();
    for (const auto& [node, refs] : reach.by_node) {
      if (anywhere || !ask.within.contains(hardware.rank(node))) continue;
      for (const VictimRef ref : refs) inside.insert(ref.candidate);
    }
    std::copy_if(reach.takeable.begin(), reach.takeable.end(), std::back_inserter(helpful),
                 [&](VictimRef ref) {
                   return !book_.at(ref).gone && (anywhere || inside.contains(ref.candidate));
                 });
    return helpful;
  }

  Reach& ReachOf(const Rights& rights) {
    const auto [it, fresh] = reaches_.try_emplace(std::make_tuple(
        rights.ground, rights.queue, rights.priority, rights.kinds, rights.models, rights.levels));
    Reach& reach = it->second;
    std::vector<KindSet> over = book_.OverIn(rights);
    if (!fresh && over == reach.over) return reach;
    reach = Reach{std::move(over), {}, {}, {}};
    const auto& candidates = book_.candidates();
    for (std::uint32_t c = 0; c < candidates.size(); ++c) {
      for (std::uint32_t v = 0; v < candidates[c].victims.size(); ++v) {
        const Candidate::Victim& victim = candidates[c].victims[v];
        if (!book_.MayTake(rights, candidates[c], victim)) continue;
        reach.takeable.push_back({c, v});
        reach.by_node[book_.snapshot().task(victim.task).node].push_back({c, v});
      }
    }
    return reach;
  }

  // The relaxation: each role by itself, each node by itself. Exact where what it comes to is what
  // it costs in truth; else a solution to start from, or nothing.
  VictimSearch::Answer Relax(const GangAsk& ask, const Rights& rights, Reach& reach) {
    VictimSearch::Answer answer;
    answer.exact = false;
    std::vector<VictimRef> victims;
    Toll bound;
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
              TableOf(reach, role.cls)
                  .Cheapest(later_, book_, need - static_cast<std::int32_t>(room), ask.within);
          exact = exact && some.exact;
          if (!some.possible) {
            answer.exact = ask.roles.size() == 1;
            return answer;
          }
          bound += some.toll;
          for (const VictimRef ref : some.victims) {
            later_.ledger().Free(book_.at(ref).task);
            victims.push_back(ref);
          }
        }
        if (ask.roles.size() == 1) break;
        // What the next role finds is what this one leaves.
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
    if (!Complete(reach, victims)) return answer;
    if (!book_.MayAllGo(rights, victims) || !book_.Covers(rights, victims)) return answer;
    Attempt attempt(later_.ledger());
    for (const VictimRef ref : victims) later_.ledger().Free(book_.at(ref).task);
    if (Place(ask, false) != VictimSearch::Fits::kYes) return answer;
    answer.found = true;
    answer.toll = book_.TollOf(victims);
    answer.exact = exact && ask.roles.size() == 1 &&
                   answer.toll.gangs <= bound.gangs + RoundedOff(victims) &&
                   answer.toll.tasks == bound.tasks && answer.toll.cost == bound.cost;
    answer.victims = std::move(victims);
    return answer;
  }

  // A gang's parts are rounded down by less than one each.
  static std::int64_t RoundedOff(const std::vector<VictimRef>& victims) {
    return static_cast<std::int64_t>(victims.size());
  }

  // Adds the rest of each gang that these break. False where that may not go.
  bool Complete(const Reach& reach, std::vector<VictimRef>& victims) const {
    std::sort(victims.begin(), victims.end());
    victims.erase(std::unique(victims.begin(), victims.end()), victims.end());
    std::vector<VictimRef> all;
    for (std::size_t i = 0; i < victims.size();) {
      const std::size_t end = EndOfJob(victims, i);
      const auto of_one = std::span(victims).subspan(i, end - i);
      const std::uint32_t c = victims[i].candidate;
      if (book_.Breaks(of_one)) {
        const Candidate& candidate = book_.of(victims[i]);
        const auto begin =
            std::lower_bound(reach.takeable.begin(), reach.takeable.end(), VictimRef{c, 0});
        std::uint32_t left = 0;
        for (auto it = begin; it != reach.takeable.end() && it->candidate == c; ++it) {
          if (book_.at(*it).gone) continue;
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

  // All that may be taken, and all that is free, is less than what the gang asks for.
  bool Hopeless(const GangAsk& ask, const Rights& rights, const Reach& reach) const {
    const Resources asked = LeastDemand(book_.snapshot(), ask);
    const Resources& free = later_.ledger().occupancy().free_total();
    for (KindSet kinds = rights.kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      // Nodes that are over-committed count below zero, and take nothing from the others.
      if (k != kGpu && k != kGpuMemory) continue;
      if (free[k] + book_.MostOf(rights, reach.takeable, k) < asked[k]) return true;
    }
    return false;
  }

  void Evict(const GangAsk& ask, const std::vector<VictimRef>& victims, Answer& answer) {
    evicted_ = true;
    for (const VictimRef ref : victims) {
      answer.victims.push_back(book_.at(ref).task);
      later_.ledger().Free(book_.at(ref).task);
    }
    answer.gangs = static_cast<std::int32_t>(book_.TollOf(victims).gangs / Toll::kGang);
    answer.outcome = Outcome::kPlaced;
    TEPHRA_CHECK(Place(ask, true) == VictimSearch::Fits::kYes);
    // Of jobs that live on, fewer may go next.
    for (const VictimRef ref : victims) {
      const Candidate& candidate = book_.of(ref);
      if (candidate.victims.size() == 1) continue;
      for (const Candidate::Victim& other : candidate.victims) {
        if (other.gone) continue;
        for (auto& [key, reach] : reaches_) {
          for (auto& [cls, table] : reach.tables) {
            table.Outdate(book_.snapshot().task(other.task).node);
          }
        }
      }
    }
    book_.Evicted(victims);
    book_.Placed(ask.job);
  }

  Workbench& later_;
  VictimBook book_;
  std::int32_t budget_;
  bool evicted_ = false;
  std::map<std::tuple<Ground, QueueId, std::int64_t, KindSet, KindSet, std::size_t>, Reach>
      reaches_;
};

}  // namespace

bool EvictionSearch::Possible(const Snapshot& snapshot, const GangAsk& ask) const {
  if (!Evicts(snapshot.config())) return false;
  return !snapshot.books().releasing.empty() || AnybodyFor(snapshot, ask);
}

std::unique_ptr<Relief> EvictionSearch::Begin(Workbench& later) const {
  return std::make_unique<SearchRelief>(later, budget_);
}

}  // namespace tephra
