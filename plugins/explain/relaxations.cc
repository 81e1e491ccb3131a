#include "plugins/explain/relaxations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/explain/scratch.h"

namespace tephra {
namespace {

// Changes of one relaxation: levels of the tree times kinds.
constexpr int kMostChanges = 32;
constexpr std::int64_t kMostNewNodes = 1024;
// Of so many nodes each is left out once, to see whether it is needed.
constexpr std::size_t kMostTriedOneByOne = 16;

class Search {
 public:
  Search(const State& state, const Assembly& assembly, JobId job, TimeMs now)
      : scratch_(state, assembly, job, now), job_(state.books().jobs[job.index()]) {}

  Relaxations Run() {
    if (const Scratch::Said said = scratch_.Try({}); said.starts) {
      StartsAsItIs();
    } else if (IsQuota(said.reason.obstacle) || IsRoom(said.reason.obstacle)) {
      if (const auto first = First()) first_.push_back(*first);
      Look(said);
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
  // How a list of changes fares when quotas that are in its way yield.
  struct Walked {
    bool starts = false;
    bool unknown = false;
    std::vector<Change> changes;
    Scratch::Said last;  // where it does not start
  };
  enum class Yields { kLimits, kLimitsAndGuarantees };

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

  // What keeps the job waiting, whatever room there is: another job, or the gate.
  std::optional<Change> First() const {
    const Reason& said = job_.standing.reason;
    if (!job_.standing.asked) return std::nullopt;
    Change change;
    change.easing = Easing::kLetIn;
    if (said.obstacle == Obstacle::kGate) return change;
    if (said.obstacle != Obstacle::kBehind) return std::nullopt;
    change.easing = Easing::kAhead;
    change.queue = said.queue;
    change.ahead = said.ahead;
    return change;
  }

  void Look(const Scratch::Said& said) {
    Walked walked = Walk(first_, Yields::kLimits);
    if (!walked.starts && walked.last.reason.obstacle == Obstacle::kQueueGuarantee) {
      Walked lent = Walk(walked.changes, Yields::kLimitsAndGuarantees);
      if (lent.starts) Offer(Trimmed(std::move(lent)));
    }
    const bool quota_does = walked.starts;
    const Scratch::Said left = walked.last;
    if (quota_does) Offer(Trimmed(std::move(walked)));
    FewerMembers(said);
    if (quota_does) return;
    if (IsRoom(left.reason.obstacle)) {
      SmallerAsk(left);
      HigherTier(left);
      for (const Misfit why : {Misfit::kUnschedulable, Misfit::kRefused, Misfit::kExcluded}) {
        NodesBack(left, why);
      }
    }
    // A new node would be in no domain.
    if (job_.locality.mode != Locality::Mode::kRequired) MoreNodes(left);
  }

  void Offer(Relaxation relaxation) { found_.nearest.push_back(std::move(relaxation)); }

  // --- quotas

  Walked Walk(std::vector<Change> changes, Yields yields) {
    Walked walked;
    walked.changes = std::move(changes);
    for (int round = 0; round < kMostChanges; ++round) {
      walked.last = scratch_.Try(walked.changes);
      walked.starts = walked.last.starts;
      walked.unknown = walked.last.unknown;
      if (walked.starts || !Yield(walked.last.reason, yields, walked.changes)) break;
    }
    return walked;
  }

  // Makes the quota that the reason names larger by what is missing.
  bool Yield(const Reason& reason, Yields yields, std::vector<Change>& changes) {
    const QueueTree& queues = scratch_.books().queues;
    if (reason.obstacle == Obstacle::kQueueLimit) {
      const QueueId queue = queues.Find(reason.queue);
      if (!queue.valid()) return false;
      return Raise(Easing::kLimit, reason.queue, reason.binding,
                   reason.used + reason.asked - reason.limit,
                   queues.spec(queue).limit[reason.binding], changes);
    }
    if (reason.obstacle != Obstacle::kQueueGuarantee || yields == Yields::kLimits) return false;
    const QueueId queue = queues.Find(reason.kept_for);
    if (!queue.valid()) return false;
    const std::int64_t left = reason.queue.empty()
                                  ? std::max<std::int64_t>(reason.limit - reason.asked, 0)
                                  : reason.limit - reason.used - reason.asked;
    std::int64_t idle = queues.spec(queue).guarantee[reason.binding] -
                        scratch_.books().occupancy.queue_total(queue)[reason.binding];
    for (const Change& change : changes) {
      const bool same = change.easing == Easing::kLend && change.queue == reason.kept_for;
      if (same && change.kind == reason.binding) idle -= change.amount;
    }
    return Raise(Easing::kLend, reason.kept_for, reason.binding, std::min(reason.kept - left, idle),
                 queues.spec(queue).guarantee[reason.binding], changes);
  }

  static bool Raise(Easing easing, const std::string& queue, Kind kind, std::int64_t by,
                    std::int64_t now, std::vector<Change>& changes) {
    if (by <= 0) return false;
    for (Change& change : changes) {
      if (change.easing != easing || change.queue != queue || change.kind != kind) continue;
      change.amount += by;
      return true;
    }
    Change change;
    change.easing = easing;
    change.queue = queue;
    change.kind = kind;
    change.amount = by;
    change.now = now;
    changes.push_back(change);
    return true;
  }

  // Each amount as small as it may be while the others stay as they are. REQUIRES: it starts.
  Relaxation Trimmed(Walked walked) {
    Relaxation made{std::move(walked.changes), true};
    for (std::size_t i = 0; i < made.changes.size();) {
      const Easing easing = made.changes[i].easing;
      if (easing == Easing::kLimit || easing == Easing::kLend) {
        made.changes[i].amount =
            Smallest(made.changes[i].amount, made.smallest, [&](std::int64_t amount) {
              std::vector<Change> less = made.changes;
              less[i].amount = amount;
              if (amount == 0) less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
              return scratch_.Try(less);
            });
      }
      if (easing != Easing::kAhead && easing != Easing::kLetIn && made.changes[i].amount == 0) {
        made.changes.erase(made.changes.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return made;
  }

  // The smallest amount from 0 to `enough` with which it starts, so that with one less it does not.
  // As a rule `enough` is the one, so that is looked at first.
  template <class TryAmount>
  std::int64_t Smallest(std::int64_t enough, bool& proven, TryAmount try_amount) {
    bool last_unknown = false;
    const auto starts = [&](std::int64_t amount) {
      const Scratch::Said said = try_amount(amount);
      if (!said.starts) last_unknown = said.unknown;
      return said.starts;
    };
    if (enough <= 0) return enough;
    if (starts(enough - 1)) {
      std::int64_t too_few = -1;
      --enough;
      while (enough - too_few > 1) {
        const std::int64_t middle = too_few + (enough - too_few) / 2;
        (starts(middle) ? enough : too_few) = middle;
      }
      if (enough == 0) return 0;
    }
    proven = proven && !last_unknown;
    return enough;
  }

  std::vector<Change> With(const Change& change) const {
    std::vector<Change> changes = first_;
    changes.push_back(change);
    return changes;
  }

  // --- the job itself

  // The index of the role that stands in the way; the first that asks for anything where no role
  // does.
  std::size_t RoleOf(const Reason& reason) const {
    for (std::size_t r = 0; r < job_.roles.size(); ++r) {
      if (!reason.role.empty() && job_.roles[r].name == reason.role) return r;
    }
    for (std::size_t r = 0; r < job_.roles.size(); ++r) {
      if (job_.roles[r].pending > 0) return r;
    }
    return 0;
  }

  void FewerMembers(const Scratch::Said& said) {
    if (!job_.groups.empty()) return;  // a group has its size
    std::int64_t mins = 0, roles = 0;
    for (const RoleRow& role : job_.roles) {
      mins += role.min;
      roles += role.tasks.empty() ? 0 : 1;
    }
    const RoleRow& role = job_.roles[RoleOf(said.reason)];
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
    Most(change, least, 1, !said.unknown);
  }

  void SmallerAsk(const Scratch::Said& said) {
    const RoleRow& role = job_.roles[RoleOf(said.reason)];
    const TaskClass& cls = scratch_.books().classes[role.cls];
    if (job_.counted() > 0 || !cls.single_ask()) return;
    const DeviceRequest& asked = cls.lasting[0].request;
    if (asked.sharing == Sharing::kMig) return;  // there is no half of a profile
    Change change;
    change.easing = Easing::kAsk;
    change.role = role.name;
    change.now = cls.demand[kGpu];
    const Reason& reason = said.reason;
    if (said.verdict == Verdict::kWait && reason.binding == kGpu &&
        reason.free_total >= reason.tasks_needed * reason.per_task) {
      change.free = reason.free_total;
    }
    const std::int64_t unit = asked.whole() ? kWholeGpu : std::int64_t{asked.count};
    Most(change, unit, unit, !said.unknown);
  }

  // The same for the group that has no room, and for all of the job.
  void HigherTier(const Scratch::Said& said) {
    for (const GroupRow& group : job_.groups) {
      if (group.spec.name == said.reason.group) {
        HigherTier(said, group.spec.locality, group.spec.name);
      }
    }
    HigherTier(said, job_.locality, "");
  }

  // The next tier at which one domain has room for it, or none has to.
  void HigherTier(const Scratch::Said& said, const Locality& locality, const std::string& group) {
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
    bool proven = !said.unknown;
    const auto does = [&](std::int64_t tier) {
      change.amount = tier;
      const Scratch::Said tried = scratch_.Try(With(change));
      if (tried.starts) Offer({With(change), proven});
      proven = proven && !tried.unknown;
      return tried.starts;
    };
    if (std::none_of(tiers.begin(), tiers.end(), does)) does(-1);
  }

  // The largest amount of the change below what is now, and not below `least`, with which it
  // starts. All are a multiple of `unit`.
  void Most(Change change, std::int64_t least, std::int64_t unit, bool now_is_too_much) {
    const auto with = [&](std::int64_t amount) {
      change.amount = amount;
      return With(change);
    };
    if (least >= change.now || !scratch_.Try(with(least)).starts) return;
    bool proven = now_is_too_much;
    // Counted from the largest down: how many units less.
    const std::int64_t enough = (change.now - least) / unit;
    std::int64_t less = enough, too_few = 0;
    while (less - too_few > 1) {
      const std::int64_t middle = too_few + (less - too_few) / 2;
      const Scratch::Said said = scratch_.Try(with(change.now - middle * unit));
      (said.starts ? less : too_few) = middle;
      if (!said.starts) proven = !said.unknown;
    }
    Offer({with(change.now - less * unit), proven});
  }

  // --- nodes

  void NodesBack(const Scratch::Said& said, Misfit why) {
    const ClassId cls = job_.roles[RoleOf(said.reason)].cls;
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
    auto best = Fewest(change.now, !said.unknown, with);
    if (!best) return;
    DropOneByOne(*best);
    Offer(std::move(*best));
  }

  // Those that came first may be of no use.
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
      const Scratch::Said said = scratch_.Try(less);
      if (said.starts) {
        relaxation.changes = std::move(less);
      } else {
        relaxation.smallest = relaxation.smallest && !said.unknown;
        ++n;
      }
    }
  }

  void MoreNodes(const Scratch::Said& said) {
    const NodeId kind = scratch_.BestKind(job_.roles[RoleOf(said.reason)].cls);
    if (!kind.valid()) return;
    Change change;
    change.easing = Easing::kNodes;
    change.nodes = {scratch_.books().hardware.spec(kind).name};
    std::int64_t least = 0, waiting = 0;
    for (const RoleRow& role : job_.roles) {
      least += std::max(0, role.min - role.counted);
      waiting += role.pending;
    }
    least = std::max<std::int64_t>(least, job_.min_member - job_.counted());
    const auto with = [&](std::int64_t count) {
      change.amount = count;
      return With(change);
    };
    auto best = Fewest(std::min({least, waiting, kMostNewNodes}), !said.unknown, with);
    if (best) Offer(std::move(*best));
  }

  // The fewest nodes, up to so many, with which it starts, where limits that are then in its way
  // yield. REQUIRES: most >= 1.
  template <class Changes>
  std::optional<Relaxation> Fewest(std::int64_t most, bool none_is_too_few, Changes with) {
    bool proven = none_is_too_few;
    std::optional<Walked> best;
    const auto starts = [&](std::int64_t count) {
      Walked walked = Walk(with(count), Yields::kLimits);
      if (walked.starts) {
        best = std::move(walked);
        return true;
      }
      proven = !walked.unknown;
      return false;
    };
    std::int64_t too_few = 0, enough = 1;
    // A few are the rule, so they are tried first.
    while (!starts(enough)) {
      if (enough == most || scratch_.ended()) return std::nullopt;
      too_few = enough;
      enough = std::min(2 * enough, most);
    }
    while (enough - too_few > 1) {
      const std::int64_t middle = too_few + (enough - too_few) / 2;
      (starts(middle) ? enough : too_few) = middle;
    }
    Relaxation made = Trimmed(std::move(*best));
    made.smallest = made.smallest && proven;
    return made;
  }

  Scratch scratch_;
  const JobRow& job_;          // of the state that is asked about
  std::vector<Change> first_;  // what has to be different in any case
  Relaxations found_;
};

}  // namespace

Relaxations FindRelaxations(const State& state, const Assembly& assembly, JobId id, TimeMs now) {
  const JobRow& job = state.books().jobs[id.index()];
  const bool waits = job.live && job.pending() > 0 && !job.satisfied();
  if (!waits || job.held() > 0 || job.quarantined) return {};
  if (!state.books().config.enables("allocate")) return {};
  return Search(state, assembly, id, now).Run();
}

}  // namespace tephra
