#include "plugins/explain/relaxations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "engine/current_standings.h"
#include "engine/gang_counts.h"
#include "plugins/explain/quota_search.h"
#include "plugins/explain/scratch.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostNewNodes = 1024;
// Of at most this many nodes, each is left out once to see whether the job needs it.
constexpr std::size_t kMostTriedOneByOne = 16;

class Search {
 public:
  Search(const State& state, const Assembly& assembly, JobId job, TimeMs now)
      : scratch_(state, assembly, job, now),
        job_(state.books().jobs[job.index()]),
        said_(CurrentStandings(state.books()).Of(job)) {}

  Relaxations Run() {
    if (const Scratch::Result result = scratch_.Try({}); result.starts) {
      StartsAsItIs();
    } else if (IsQuota(result.reason.obstacle) || IsRoom(result.reason.obstacle)) {
      if (const auto first = First()) first_.push_back(*first);
      Look(result);
    } else {
      return {};
    }
    std::stable_sort(found_.nearest.begin(), found_.nearest.end(),
                     [](const Relaxation& a, const Relaxation& b) { return Far(a) < Far(b); });
    found_.ended = scratch_.ended();
    found_.trials = scratch_.trials();
    return std::move(found_);
  }

 private:
  static std::tuple<std::size_t, Easing, std::int64_t> Far(const Relaxation& relaxation) {
    return {relaxation.changes.size(), relaxation.changes.back().easing,
            relaxation.changes.back().amount};
  }

  void StartsAsItIs() {
    if (const auto first = First()) {
      found_.nearest.push_back({{*first}, true});
    } else {
      found_.fits_now = true;
    }
  }

  // What blocks the job whatever room is free: a job ahead of it, or the enqueue gate.
  std::optional<Change> First() const {
    const Reason& result = said_.reason;
    if (!said_.asked) return std::nullopt;
    Change change;
    change.easing = Easing::kAdmitted;
    if (result.obstacle == Obstacle::kGate) return change;
    if (result.obstacle != Obstacle::kBehind) return std::nullopt;
    change.easing = Easing::kAhead;
    change.queue = result.queue;
    change.ahead = result.ahead;
    return change;
  }

  void Look(const Scratch::Result& result) {
    QuotaSearch::Outcome raised = quotas_.Run(first_, QuotaSearch::May::kRaiseLimits);
    if (!raised.starts && raised.last.reason.obstacle == Obstacle::kQueueGuarantee) {
      QuotaSearch::Outcome lent =
          quotas_.Run(raised.changes, QuotaSearch::May::kRaiseLimitsAndLend);
      if (lent.starts) Offer(quotas_.Trimmed(std::move(lent)));
    }
    if (IsOnlyProtected(result.reason)) {
      Change change;
      change.easing = Easing::kPreemptible;
      QuotaSearch::Outcome preemptible = quotas_.Run(With(change), QuotaSearch::May::kRaiseLimits);
      if (preemptible.starts) Offer(quotas_.Trimmed(std::move(preemptible)));
    }
    const bool quota_does = raised.starts;
    const Scratch::Result left = raised.last;
    if (quota_does) Offer(quotas_.Trimmed(std::move(raised)));
    FewerMembers(result);
    if (quota_does) return;
    if (IsRoom(left.reason.obstacle)) {
      SmallerAsk(left);
      HigherTier(left);
      for (const Misfit why : {Misfit::kUnschedulable, Misfit::kRefused, Misfit::kExcluded}) {
        NodesBack(left, why);
      }
    }
    // A new node would belong to no domain.
    if (job_.locality->mode != Locality::Mode::kRequired) MoreNodes(left);
  }

  // The job waits because it is not preemptible, and says so itself, not one of its pods.
  bool IsOnlyProtected(const Reason& reason) const {
    return reason.obstacle == Obstacle::kQueueDeserved && !job_.preemptible && job_.protected_tasks == 0;
  }

  void Offer(Relaxation relaxation) { found_.nearest.push_back(std::move(relaxation)); }

  std::vector<Change> With(const Change& change) const {
    std::vector<Change> changes = first_;
    changes.push_back(change);
    return changes;
  }

  // --- the job itself

  // The index of the role that the reason names; otherwise of the first role with pending tasks.
  std::size_t RoleOf(const Reason& reason) const {
    for (std::size_t r = 0; r < job_.roles.size(); ++r) {
      if (!reason.role.empty() && job_.roles[r].name == reason.role) return r;
    }
    for (std::size_t r = 0; r < job_.roles.size(); ++r) {
      if (job_.roles[r].pending > 0) return r;
    }
    return 0;
  }

  void FewerMembers(const Scratch::Result& result) {
    if (!job_.groups.empty()) return;  // sub-groups have fixed sizes
    std::int64_t mins = 0, roles = 0;
    for (const RoleRow& role : job_.roles) {
      mins += role.min;
      roles += role.tasks.empty() ? 0 : 1;
    }
    const RoleRow& role = job_.roles[RoleOf(result.reason)];
    Change change;
    change.easing = Easing::kMembers;
    std::int64_t least = 1;
    if (roles > 1 && role.min > 0) {
      change.role = role.name;
      change.now = role.min;
      least = std::max<std::int64_t>(role.counted, 1);
    } else {
      change.now = std::max<std::int64_t>(job_.min_member, mins);
      least = std::max<std::int64_t>(job_.counted() + 1, roles > 1 ? mins : 1);
    }
    Most(change, least, 1, !result.unknown);
  }

  void SmallerAsk(const Scratch::Result& result) {
    const RoleRow& role = job_.roles[RoleOf(result.reason)];
    const TaskClass& cls = scratch_.books().classes[role.cls];
    if (job_.counted() > 0 || !cls.single_ask()) return;
    const DeviceRequest& asked = cls.lasting[0].request;
    if (asked.sharing == Sharing::kMig) return;  // there is no half of a profile
    Change change;
    change.easing = Easing::kAsk;
    change.role = role.name;
    change.now = cls.demand[kGpu];
    const Reason& reason = result.reason;
    if (result.verdict == Verdict::kWait && reason.binding == kGpu &&
        reason.free_total >= reason.tasks_needed * reason.per_task) {
      change.free = reason.free_total;
    }
    const std::int64_t unit = asked.whole() ? kWholeGpu : std::int64_t{asked.count};
    Most(change, unit, unit, !result.unknown);
  }

  // Tries higher tiers for the group that has no room, and for the whole job.
  void HigherTier(const Scratch::Result& result) {
    for (const GroupRow& group : job_.groups) {
      if (group.spec.name == result.reason.group) {
        HigherTier(result, group.spec.locality, group.spec.name);
      }
    }
    HigherTier(result, job_.locality, "");
  }

  // The next tier with a domain that has room; otherwise no tier at all.
  void HigherTier(const Scratch::Result& result, const Locality& locality,
                  const std::string& group) {
    const Fabric& fabric = scratch_.books().hardware.fabric();
    if (locality.mode != Locality::Mode::kRequired) return;
    Change change;
    change.easing = Easing::kTier;
    change.group = group;
    change.now = locality.highest_tier_name.empty() ? locality.highest_tier
                                                    : fabric.TierNamed(locality.highest_tier_name);
    std::set<std::int64_t> tiers;
    for (const Fabric::Domain& domain : fabric.domains()) {
      if (domain.tier > change.now) tiers.insert(domain.tier);
    }
    bool proven = !result.unknown;
    const auto does = [&](std::int64_t tier) {
      change.amount = tier;
      const Scratch::Result tried = scratch_.Try(With(change));
      if (tried.starts) Offer({With(change), proven});
      proven = proven && !tried.unknown;
      return tried.starts;
    };
    if (std::none_of(tiers.begin(), tiers.end(), does)) does(-1);
  }

  // The largest amount below the current one, but at least `least`, with which the job starts. All
  // amounts are multiples of `unit`.
  void Most(Change change, std::int64_t least, std::int64_t unit, bool now_is_too_much) {
    const auto with = [&](std::int64_t amount) {
      change.amount = amount;
      return With(change);
    };
    if (least >= change.now || !scratch_.Try(with(least)).starts) return;
    bool proven = now_is_too_much;
    // Both count units below the current amount.
    const std::int64_t enough = (change.now - least) / unit;
    std::int64_t less = enough, too_few = 0;
    while (less - too_few > 1) {
      const std::int64_t middle = too_few + (less - too_few) / 2;
      const Scratch::Result result = scratch_.Try(with(change.now - middle * unit));
      (result.starts ? less : too_few) = middle;
      if (!result.starts) proven = !result.unknown;
    }
    Offer({with(change.now - less * unit), proven});
  }

  // --- nodes

  void NodesBack(const Scratch::Result& result, Misfit why) {
    const ClassId cls = job_.roles[RoleOf(result.reason)].cls;
    const std::vector<NodeId> shut = scratch_.NodesShut(cls, why);
    if (shut.empty()) return;
    Change change;
    change.easing = Easing::kReturn;
    change.misfit = why;
    change.now = static_cast<std::int64_t>(shut.size());
    const Hardware& hardware = scratch_.books().hardware;
    const auto with = [&](std::int64_t count) {
      change.amount = count;
      change.nodes.clear();
      for (std::int64_t n = 0; n < count; ++n) {
        change.nodes.push_back(hardware.spec(shut[static_cast<std::size_t>(n)]).name);
      }
      return With(change);
    };
    auto best = Fewest(change.now, !result.unknown, with);
    if (!best) return;
    DropOneByOne(*best);
    Offer(std::move(*best));
  }

  // The first nodes of the list may not help.
  void DropOneByOne(Relaxation& relaxation) {
    const std::size_t at = first_.size();
    for (std::size_t n = 0; n < relaxation.changes[at].nodes.size();) {
      if (relaxation.changes[at].nodes.size() > kMostTriedOneByOne) {
        relaxation.smallest = false;
        return;
      }
      if (relaxation.changes[at].nodes.size() == 1) return;
      std::vector<Change> less = relaxation.changes;
      less[at].nodes.erase(less[at].nodes.begin() + static_cast<std::ptrdiff_t>(n));
      --less[at].amount;
      const Scratch::Result result = scratch_.Try(less);
      if (result.starts) {
        relaxation.changes = std::move(less);
      } else {
        relaxation.smallest = relaxation.smallest && !result.unknown;
        ++n;
      }
    }
  }

  void MoreNodes(const Scratch::Result& result) {
    const NodeId kind = scratch_.BestKind(job_.roles[RoleOf(result.reason)].cls);
    if (!kind.valid()) return;
    Change change;
    change.easing = Easing::kNodes;
    change.nodes = {scratch_.books().hardware.spec(kind).name};
    const std::int64_t least = GangCounts(job_).missing(), waiting = job_.pending();
    const auto with = [&](std::int64_t count) {
      change.amount = count;
      return With(change);
    };
    auto best = Fewest(std::min({least, waiting, kMostNewNodes}), !result.unknown, with);
    if (best) Offer(std::move(*best));
  }

  // The fewest nodes, at most `most`, with which the job starts after limits in the way are raised.
  // REQUIRES: most >= 1.
  template <class Changes>
  std::optional<Relaxation> Fewest(std::int64_t most, bool none_is_too_few, Changes with) {
    bool proven = none_is_too_few;
    std::optional<QuotaSearch::Outcome> best;
    const auto starts = [&](std::int64_t count) {
      QuotaSearch::Outcome raised = quotas_.Run(with(count), QuotaSearch::May::kRaiseLimits);
      if (raised.starts) {
        best = std::move(raised);
        return true;
      }
      proven = !raised.unknown;
      return false;
    };
    std::int64_t too_few = 0, enough = 1;
    // As a rule few nodes are enough, so small numbers are tried first.
    while (!starts(enough)) {
      if (enough == most || scratch_.ended()) return std::nullopt;
      too_few = enough;
      enough = std::min(2 * enough, most);
    }
    while (enough - too_few > 1) {
      const std::int64_t middle = too_few + (enough - too_few) / 2;
      (starts(middle) ? enough : too_few) = middle;
    }
    Relaxation made = quotas_.Trimmed(std::move(*best));
    made.smallest = made.smallest && proven;
    return made;
  }

  Scratch scratch_;
  QuotaSearch quotas_{scratch_};
  const JobRow& job_;
  const Standing said_;
  std::vector<Change> first_;  // changes that are needed in any case
  Relaxations found_;
};

}  // namespace

Relaxations FindRelaxations(const State& state, const Assembly& assembly, JobId id, TimeMs now) {
  const JobRow& job = state.books().jobs[id.index()];
  const bool waits = job.live && job.pending() > 0 && !job.satisfied();
  if (!waits || job.waits_for_victims() || job.quarantined) return {};
  if (!state.books().config.enables("allocate")) return {};
  return Search(state, assembly, id, now).Run();
}

}  // namespace tephra
