#include "plugins/preemption/eviction_search.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/entitled.h"
#include "engine/gang_ask.h"
#include "engine/priority.h"
#include "engine/workbench.h"
#include "plugins/preemption/victim_book.h"
#include "plugins/preemption/victim_search.h"
#include "plugins/preemption/victim_selector.h"

namespace tephra {
namespace {

// If not, no gang waits for terminating tasks either.
bool Evicts(const EngineConfig& config) {
  return config.enables("reclaim") || config.enables("preempt");
}

// The tasks that gangs with equal rights may have evicted.
struct KnownPool {
  std::vector<KindSet> over;  // VictimBook::OverIn when the pool was made
  VictimSelector::Pool victims;
  LeastLosses losses;
  bool limited = false;  // some victims may lose a limited amount only
  std::optional<ExcessLoss> excess;  // of tasks that lose too much: the one that may be evicted first
};

// Keeps the one that may be allowed first, and of these the lowest loss.
void NoteExcess(const std::optional<ExcessLoss>& one, std::optional<ExcessLoss>& first) {
  const auto key = [](const ExcessLoss& excess) { return std::pair(excess.again_at, excess.loss); };
  if (one && (!first || key(*one) < key(*first))) first = one;
}

class EvictionSelection final : public VictimSelection {
 public:
  EvictionSelection(Workbench& later, std::int32_t budget)
      : later_(later), book_(later), search_(later, book_, budget) {}

  void Placed(JobId job) override { book_.Placed(job); }

  Answer MakeRoom(const GangAsk& ask) override {
    Answer answer;
    answer.any_candidate = false;
    if (!Evicts(book_.snapshot().config())) return answer;
    const bool leaving = evicted_ || !book_.snapshot().books().releasing.empty();
    if (leaving && Place(ask, true) == VictimSearch::Fits::kYes) {
      book_.Placed(ask.job);
      answer.outcome = Outcome::kPlaced;
      return answer;
    }
    if (!book_.AnyVictimFor(ask.job)) return answer;
    // No victim makes room for it within what its queue deserves, because victims are preemptible.
    if (const auto no = later_.policies().entitlement->Deny(
            later_.ledger(), ask.job, LeastDemand(book_.snapshot(), ask), Resources{});
        no && no->obstacle == Obstacle::kQueueDeserved) {
      return answer;
    }
    const JobRow& job = book_.snapshot().job(ask.job);
    const bool held = Holds(job);
    if (held) {
      const Reason& said = *job.standing.reason;
      answer.excess = ExcessLoss{said.loss_gpu_s * kSecondMs, said.loss_limit_gpu_s * kSecondMs, 0,
                                 said.any_loss_from_ms, job.evictions_from};
    }
    const Resources asked = LeastDemand(book_.snapshot(), ask);
    const Rights by_share = book_.RightsOf(ask.job, asked, Ground::kShare, !held);
    answer.over = by_share.over;
    answer.binding = by_share.over_kind;
    answer.share = by_share.over_share;
    answer.holds = by_share.over_holds;
    answer.asked = by_share.over_asked;
    GangAsk where = ask;
    VictimSearch::Answer found = Search(by_share, where, answer);
    bool exact = found.exact;
    if (!found.found && !held) {
      const Rights by_deserved = book_.RightsOf(ask.job, asked, Ground::kDeserved);
      if (by_deserved.levels > 0) found = Search(by_deserved, where, answer);
      exact = exact && found.exact;
    }
    if (!found.found) {
      if (answer.excess) answer.any_candidate = true;
      // Victims were found, so the share is not what is in the way. A queue above all others counts
      // for nothing either: nothing outside of it could be reclaimed.
      const bool blocked = !answer.any_candidate && answer.over.valid() &&
                           AnyUsageOutside(book_.snapshot(), answer.over);
      if (!blocked) answer.over = QueueId();
      answer.any_candidate = answer.any_candidate || blocked;
      answer.outcome = exact ? Outcome::kImpossible : Outcome::kUnknown;
      return answer;
    }
    answer.fewest = exact;
    if (!Evict(where, found.victims, answer)) answer.outcome = Outcome::kUnknown;
    return answer;
  }

  bool MayHelp(JobId job, const Resources& least) override {
    if (!Evicts(book_.snapshot().config()) || !book_.AnyVictimFor(job)) return false;
    if (!Holds(book_.snapshot().job(job))) {
      if (book_.AnyBorrower(book_.RightsOf(job, least, Ground::kShare))) return true;
      if (book_.AnyBorrower(book_.RightsOf(job, least, Ground::kDeserved))) return true;
    }
    const Resources& free = later_.ledger().occupancy().free_total();
    const Resources lower = book_.LowerJobsHold(job);
    return lower.NonZero() != 0 && free[kGpu] + lower[kGpu] >= least[kGpu];
  }

 private:
  // Whether a search found lately that victims lose too much work.
  bool Holds(const JobRow& job) const {
    return job.evictions_from > book_.snapshot().now() && job.standing.asked &&
           job.standing.reason->remedy == Remedy::kLoss;
  }

  // Places the gang on the ledger. Leaves the ledger as it was, unless `keep` and the gang fits.
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

  // The best victims that these rights allow. Notes in the answer what the search found out.
  VictimSearch::Answer Search(Rights rights, GangAsk& ask, Answer& answer) {
    if (!book_.AnyVictimFor(rights)) return {};
    KnownPool& known = PoolOf(rights);
    VictimSelector::Pool& pool = known.victims;
    NoteExcess(known.excess, answer.excess);
    if (pool.allowed.empty()) return {};
    answer.any_candidate = true;
    const std::int64_t lacks =
        LeastDemand(book_.snapshot(), ask)[kGpu] - later_.ledger().occupancy().free_total()[kGpu];
    if (const auto excess = book_.ExcessOf(rights, known.losses, lacks)) {
      NoteExcess(excess, answer.excess);
      return {};
    }
    book_.Weigh(rights, pool.allowed);
    VictimSelector::Rules rules;
    rules.sets.may_evict_all = [&](const auto& victims) {
      if (!book_.MayEvictAll(rights, victims)) return false;
      const auto excess = book_.ExcessOf(rights, victims);
      NoteExcess(excess, answer.excess);
      return !excess.has_value();
    };
    rules.sets.covers = [&](const auto& victims) { return book_.Covers(rights, victims); };
    rules.fits = [&](const GangAsk& trial) { return Place(trial, false); };
    rules.room_alone = !later_.policies().entitlement->Deny(
        later_.ledger(), ask.job, LeastDemand(book_.snapshot(), ask), Resources{});
    rules.hopeless = [&](const GangAsk& trial) { return Hopeless(trial, rights, pool); };
    return search_.Run(rules, pool, ask, answer.steps);
  }

  KnownPool& PoolOf(const Rights& rights) {
    const auto [it, fresh] = pools_.try_emplace(std::make_tuple(
        rights.ground, rights.queue, rights.rank, rights.kinds, rights.models, rights.levels,
        rights.in_quota, rights.quota_limit, rights.share_limit));
    KnownPool& pool = it->second;
    std::vector<KindSet> over = book_.OverIn(rights);
    if (!fresh && over == pool.over) return pool;
    const bool limited = !rights.quota_limit.none() || !rights.share_limit.none();
    pool = KnownPool{std::move(over), {}, {}, limited, {}};
    const auto& candidates = book_.CandidatesFor(rights.queue);
    for (std::uint32_t c = 0; c < candidates.size(); ++c) {
      for (std::uint32_t v = 0; v < candidates[c].victims.size(); ++v) {
        const Candidate::Victim& victim = candidates[c].victims[v];
        if (!book_.MayEvict(rights, candidates[c], victim)) continue;
        if (const auto excess = book_.ExcessOf(rights, {c, v})) {
          NoteExcess(excess, pool.excess);
        } else {
          pool.victims.Add(book_, {c, v});
        }
      }
    }
    pool.losses = book_.LeastLossesOf(rights, pool.victims.allowed);
    return pool;
  }

  // Whether all allowed victims and all free resources are less than the request.
  bool Hopeless(const GangAsk& ask, const Rights& rights, const VictimSelector::Pool& pool) const {
    const Resources asked = LeastDemand(book_.snapshot(), ask);
    const Resources& free = later_.ledger().occupancy().free_total();
    for (KindSet kinds = rights.kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      // Other kinds can be over-committed on a node, and then the free total is too low.
      if (k != kGpu && k != kGpuMemory) continue;
      if (free[k] + book_.MostOf(rights, pool.allowed, k) < asked[k]) return true;
    }
    return false;
  }

  // False: the gang could not be placed again, and nothing is changed.
  bool Evict(const GangAsk& ask, const std::vector<VictimRef>& victims, Answer& answer) {
    Attempt attempt(later_.ledger());
    for (const VictimRef ref : victims) later_.ledger().Free(book_.at(ref).task);
    if (Place(ask, true) != VictimSearch::Fits::kYes) return false;
    attempt.Keep();
    evicted_ = true;
    for (const VictimRef ref : victims) answer.victims.push_back(book_.at(ref).task);
    answer.gangs = static_cast<std::int32_t>(book_.CostOf(victims).gangs / EvictionCost::kGang);
    answer.outcome = Outcome::kPlaced;
    // The surplus of jobs that keep running has shrunk. So their other tasks go with the whole job, which
    // may lose too much.
    bool shrunk = false;
    for (const VictimRef ref : victims) {
      const Candidate& candidate = book_.of(ref);
      if (candidate.victims.size() == 1) continue;
      shrunk = true;
      for (const Candidate::Victim& other : candidate.victims) {
        if (other.evicted) continue;
        for (auto& [key, pool] : pools_) {
          for (auto& [cls, table] : pool.victims.tables) {
            table.Outdate(book_.snapshot().task(other.task).node);
          }
        }
      }
    }
    if (shrunk) std::erase_if(pools_, [](const auto& one) { return one.second.limited; });
    book_.Evicted(victims);
    book_.Placed(ask.job);
    return true;
  }

  Workbench& later_;
  VictimBook book_;
  VictimSelector search_;
  bool evicted_ = false;
  using Basis = std::tuple<Ground, QueueId, Precedence, KindSet, KindSet, std::size_t, std::size_t,
                           LossLimit, LossLimit>;
  std::map<Basis, KnownPool> pools_;
};

}  // namespace

bool EvictionSearch::Enabled(const EngineConfig& config) const { return Evicts(config); }

bool EvictionSearch::Possible(const Snapshot& snapshot, const GangAsk& ask) const {
  if (!Evicts(snapshot.config())) return false;
  return !snapshot.books().releasing.empty() || MayHaveVictims(snapshot, ask.job);
}

// Room that has grown may be enough with victims beside it.
bool EvictionSearch::HelpsAnywhere(const Books& books) const { return Evicts(books.config); }

Wakes::Helped EvictionSearch::HelpedBy(const Books& books,
                                       const std::vector<JobId>& evictable) const {
  const bool reclaim = books.config.enables("reclaim");
  const bool preempt = books.config.enables("preempt");
  if (!reclaim && !preempt) return nullptr;
  std::map<QueueId, std::int32_t> lowest;  // priority
  for (const JobId id : evictable) {
    const JobRow& job = books.jobs[id.index()];
    if (!job.live || !job.preemptible || !books.queues.present(job.queue)) continue;
    const auto it = lowest.try_emplace(job.queue, job.priority).first;
    it->second = std::min(it->second, job.priority);
  }
  const auto lends = [&books](QueueId queue) { return books.queues.spec(queue).reclaimable; };
  const auto lenders = std::count_if(lowest.begin(), lowest.end(),
                                     [&](const auto& one) { return lends(one.first); });
  return [=, &books](const JobRow& job) {
    const auto own = lowest.find(job.queue);
    const bool here = own != lowest.end();
    if (here && preempt &&
        (job.priority > own->second || books.config.priority_boost_ms > 0 ||
         (job.priority == own->second && EvictsByLeft(books.config)))) {
      return true;
    }
    return reclaim && lenders > (here && lends(job.queue) ? 1 : 0);
  };
}

std::unique_ptr<VictimSelection> EvictionSearch::Begin(Workbench& later) const {
  return std::make_unique<EvictionSelection>(later, budget_);
}

}  // namespace tephra
