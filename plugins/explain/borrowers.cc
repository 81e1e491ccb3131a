#include "plugins/explain/borrowers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "engine/gang_ask.h"
#include "engine/holdings.h"

namespace tephra {
namespace {

using Parts = std::array<std::int64_t, kStays>;

class Finder {
 public:
  Finder(const Snapshot& snapshot, const Policies& policies, JobId job)
      : snapshot_(snapshot),
        policies_(policies),
        job_(snapshot.job(job)),
        asked_(LeastMissing(snapshot, job_)),
        shares_(policies.share->Of(snapshot.books())) {}

  std::vector<Shortfall> Run() {
    std::vector<Shortfall> found;
    KindSet fits = asked_.NonZero();  // kinds in which each level so far stays within its share
    for (QueueId mine = job_.queue; mine.valid(); mine = queues().parent(mine)) {
      if (!queues().present(mine) || !queues().cycle(mine).empty()) break;
      KindSet kinds = asked_.NonZero();
      for (KindSet k = kinds; k != 0; k &= k - 1) {
        const Kind kind = static_cast<Kind>(std::countr_zero(k));
        const std::int64_t own = OwnOf(mine, kind);
        if (own != Share::kNotShared && Holds(mine, kind) + asked_[kind] > own) {
          fits &= ~(KindSet{1} << kind);
        }
      }
      const auto look = [&](Kind kind) { Look(mine, kind, (fits >> kind & 1) != 0, found); };
      if ((kinds >> kGpu & 1) != 0) look(kGpu);
      for (kinds &= ~(KindSet{1} << kGpu); kinds != 0; kinds &= kinds - 1) {
        look(static_cast<Kind>(std::countr_zero(kinds)));
      }
    }
    return found;
  }

 private:
  const QueueTree& queues() const { return snapshot_.queues(); }
  std::int64_t Holds(QueueId queue, Kind kind) const {
    return snapshot_.occupancy().queue_total(queue)[kind];
  }
  std::int64_t OwnOf(QueueId queue, Kind kind) const {
    return queue.index() < shares_.own.size() ? shares_.own[queue.index()][kind]
                                              : Share::kNotShared;
  }

  void Look(QueueId mine, Kind kind, bool fits, std::vector<Shortfall>& found) const {
    const std::int64_t own = OwnOf(mine, kind);
    if (own == Share::kNotShared || Holds(mine, kind) >= own) return;
    std::vector<std::pair<std::int64_t, QueueId>> over;
    for (std::size_t q = 0; q < queues().size(); ++q) {
      const QueueId beside(q);
      if (beside == mine || !queues().present(beside)) continue;
      if (queues().parent(beside) != queues().parent(mine)) continue;
      const std::int64_t theirs = OwnOf(beside, kind);
      if (theirs == Share::kNotShared || Holds(beside, kind) <= theirs) continue;
      over.emplace_back(Holds(beside, kind) - theirs, beside);
    }
    if (over.empty()) return;
    std::sort(over.begin(), over.end(), [&](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first > b.first;
      return queues().spec(a.second).name < queues().spec(b.second).name;
    });
    const QueueSpec& spec = queues().spec(mine);
    Shortfall shortfall{spec.name,
                        kind,
                        Holds(mine, kind),
                        own,
                        spec.guarantee[kind],
                        spec.deserved[kind],
                        asked_[kind],
                        {},
                        0,
                        0};
    std::map<QueueId, Parts> parts;
    for (const auto& [amount, queue] : over) {
      if (parts.size() < Shortfall::kMostBorrowers) {
        parts.emplace(queue, Parts{});
      } else {
        ++shortfall.others;
        shortfall.others_over += amount;
      }
    }
    Divide(kind, fits, parts);
    for (const auto& [amount, queue] : over) {
      const auto known = parts.find(queue);
      if (known == parts.end()) break;
      Borrower& borrower = shortfall.borrowers.emplace_back(
          Borrower{queues().spec(queue).name, Holds(queue, kind), OwnOf(queue, kind), {}});
      for (int s = 0; s < kStays; ++s) {
        std::int64_t part = known->second[static_cast<std::size_t>(s)];
        if (static_cast<Stays>(s) == Stays::kReclaimable) part = std::min(part, amount);
        if (part > 0) borrower.parts.emplace_back(static_cast<Stays>(s), part);
      }
    }
    found.push_back(std::move(shortfall));
  }

  // Adds the resources of each task to the part of its borrower.
  void Divide(Kind kind, bool fits, std::map<QueueId, Parts>& parts) const {
    for (const JobRow& job : snapshot_.books().jobs) {
      if (!job.live) continue;
      QueueId top = job.queue;
      while (top.valid() && !parts.contains(top)) top = queues().parent(top);
      if (!top.valid()) continue;
      Parts& sums = parts.at(top);
      const Stays queue_stays = QueueStays(top, job.queue, kind, fits);
      for (const RoleRow& role : job.roles) {
        for (const TaskId id : role.tasks) {
          const TaskRow& task = snapshot_.task(id);
          if (!HoldsRoom(task.phase) || !snapshot_.hardware().present(task.node)) continue;
          const Stays stays = queue_stays == Stays::kReclaimable ? TaskStays(job, id) : queue_stays;
          sums[static_cast<std::size_t>(stays)] += HoldingsOf(
              snapshot_.hardware(), snapshot_.cls(task.cls), task.node, task.slices)[kind];
        }
      }
    }
  }

  // `from` is `top` or a queue under it.
  Stays QueueStays(QueueId top, QueueId from, Kind kind, bool fits) const {
    if (!snapshot_.config().enables("reclaim")) return Stays::kNoReclaim;
    if (!fits) return Stays::kOverOwn;
    bool within = false;
    for (QueueId at = from;; at = queues().parent(at)) {
      const bool in_order = queues().present(at) && queues().cycle(at).empty();
      if (!in_order || !queues().spec(at).reclaimable) return Stays::kNotReclaimable;
      within = within || Holds(at, kind) <= OwnOf(at, kind);
      if (at == top) break;
    }
    return within ? Stays::kWithinOwn : Stays::kReclaimable;
  }

  Stays TaskStays(const JobRow& job, TaskId id) const {
    const TaskRow& task = snapshot_.task(id);
    if (task.phase != TaskPhase::kRunning) return Stays::kMoving;
    if (!job.preemptible) return Stays::kNotPreemptible;
    if (!policies_.victims->Cost(snapshot_, shares_, id).has_value()) return Stays::kMinRun;
    const auto& allowed = snapshot_.books().disruption_budgets;
    for (const std::string& name : *task.disruption_budgets) {
      const auto budget = allowed.find(name);
      if (budget != allowed.end() && budget->second <= 0) return Stays::kBudget;
    }
    return Stays::kReclaimable;
  }

  const Snapshot& snapshot_;
  const Policies& policies_;
  const JobRow& job_;
  const Resources asked_;
  const Share::Answer shares_;
};

}  // namespace

std::vector<Shortfall> FindShortfalls(const Snapshot& snapshot, const Policies& policies,
                                      JobId id) {
  const JobRow& job = snapshot.job(id);
  const bool waits = job.live && job.pending() > 0 && !job.satisfied() &&
                     !job.waits_for_victims();
  if (!waits || !job.queue.valid() || !snapshot.queues().present(job.queue)) return {};
  return Finder(snapshot, policies, id).Run();
}

const char* StaysText(Stays stays) {
  switch (stays) {
    case Stays::kReclaimable:
      return "can be reclaimed";
    case Stays::kNoReclaim:
      return "cannot be reclaimed (the action reclaim is disabled)";
    case Stays::kOverOwn:
      return "cannot be reclaimed (the queue of this job would exceed its share)";
    case Stays::kNotReclaimable:
      return "cannot be reclaimed (the queue or a child queue has reclaimable: false)";
    case Stays::kNotPreemptible:
      return "cannot be reclaimed (the jobs are not preemptible)";
    case Stays::kMinRun:
      return "cannot be reclaimed yet (the minimum run time is not over)";
    case Stays::kBudget:
      return "cannot be reclaimed now (a disruption budget allows no eviction)";
    case Stays::kMoving:
      return "cannot be reclaimed now (tasks are starting or terminating)";
    case Stays::kWithinOwn:
      return "cannot be reclaimed (the child queues stay within their shares)";
  }
  return "?";
}

std::string ShortfallText(const ResourceKinds& kinds, const Shortfall& shortfall) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, shortfall.kind, amount); };
  std::string text = "queue " + shortfall.queue + " has a share of " + words(shortfall.own);
  std::string entitled;
  if (shortfall.guarantee > 0) entitled = "guaranteed: " + words(shortfall.guarantee);
  if (shortfall.deserved > 0) {
    entitled += (entitled.empty() ? "deserved: " : ", deserved: ") + words(shortfall.deserved);
  }
  if (!entitled.empty()) text += " (" + entitled + ")";
  return text + " and uses " + words(shortfall.holds);
}

std::string BorrowerText(const ResourceKinds& kinds, Kind kind, const Borrower& borrower) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, kind, amount); };
  std::string text = "queue " + borrower.queue + " uses " + words(borrower.holds) + " (" +
                     words(borrower.over()) + " above its share)";
  std::string separator = ": ";
  for (const auto& [stays, amount] : borrower.parts) {
    text += separator + words(amount) + " " + StaysText(stays);
    separator = ", ";
  }
  return text;
}

}  // namespace tephra
