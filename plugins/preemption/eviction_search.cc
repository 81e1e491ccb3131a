#include "plugins/preemption/eviction_search.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "plugins/framework/entitled.h"
#include "plugins/framework/gang_ask.h"
#include "plugins/framework/workbench.h"
#include "plugins/preemption/relief_search.h"
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
  std::vector<KindSet> over;  // VictimBook::OverIn when it was made
  ReliefSearch::Reach who;
};

class SearchRelief final : public Relief {
 public:
  SearchRelief(Workbench& later, std::int32_t budget)
      : later_(later), book_(later), search_(later, book_, budget) {}

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
    VictimSearch::Answer found = Search(by_share, where, answer);
    bool exact = found.exact;
    if (!found.found) {
      const Rights by_promise = book_.RightsOf(ask, Ground::kPromise);
      if (by_promise.levels > 0) found = Search(by_promise, where, answer);
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

  // The best victims that these rights allow; `answer` hears of the search.
  VictimSearch::Answer Search(Rights rights, GangAsk& ask, Answer& answer) {
    if (!book_.AnyFor(rights)) return {};
    ReliefSearch::Reach& reach = ReachOf(rights);
    if (reach.takeable.empty()) return {};
    answer.anybody = true;
    book_.Weigh(rights, reach.takeable);
    ReliefSearch::Rules rules;
    rules.sets.may_all_go = [&](const auto& victims) { return book_.MayAllGo(rights, victims); };
    rules.sets.covers = [&](const auto& victims) { return book_.Covers(rights, victims); };
    rules.fits = [&](const GangAsk& trial) { return Place(trial, false); };
    rules.hopeless = [&](const GangAsk& trial) { return Hopeless(trial, rights, reach); };
    return search_.Run(rules, reach, ask, answer.steps);
  }

  ReliefSearch::Reach& ReachOf(const Rights& rights) {
    const auto [it, fresh] = reaches_.try_emplace(std::make_tuple(
        rights.ground, rights.queue, rights.rank, rights.kinds, rights.models, rights.levels));
    Reach& reach = it->second;
    std::vector<KindSet> over = book_.OverIn(rights);
    if (!fresh && over == reach.over) return reach.who;
    reach = Reach{std::move(over), {}};
    const auto& candidates = book_.CandidatesFor(rights.queue);
    for (std::uint32_t c = 0; c < candidates.size(); ++c) {
      for (std::uint32_t v = 0; v < candidates[c].victims.size(); ++v) {
        const Candidate::Victim& victim = candidates[c].victims[v];
        if (!book_.MayTake(rights, candidates[c], victim)) continue;
        reach.who.Add(book_, {c, v});
      }
    }
    return reach.who;
  }

  // All that may be taken, and all that is free, is less than what the gang asks for.
  bool Hopeless(const GangAsk& ask, const Rights& rights, const ReliefSearch::Reach& reach) const {
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
          for (auto& [cls, table] : reach.who.tables) {
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
  ReliefSearch search_;
  bool evicted_ = false;
  std::map<std::tuple<Ground, QueueId, Precedence, KindSet, KindSet, std::size_t>, Reach> reaches_;
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
