// VictimBook: which tasks one cycle may evict, and for which gang.
//
// A gang may have tasks evicted of
//   - jobs of its own queue with a lower priority (preemption), and
//   - jobs of queues that use more than their share, if the gang's own queue stays within its own
//     share (reclaim).
// The share is the fair share, or the guaranteed or deserved amount if that is more. Only kinds
// count that the gang requests and that are scarce. If evictions by share do not help, because free
// room is fragmented although all shares add up, the deserved amounts decide instead.
//
// Both rules hold at each level of the queue tree below the queue that both sides have in common.
// Only the last victim of a queue, or the minimum of its last gang, may take the queue below its
// share. So reclaimed resources are never reclaimed back.
//
// Tasks beyond a job's minimum are evicted one by one; otherwise the whole job is evicted. For migrations
// there is an exception: a job may say that each of its tasks may go alone, and then the others wait.
//
// One per cycle, owned by the search. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/policy.h"
#include "engine/workbench.h"
#include "plugins/preemption/eviction_cost.h"
#include "plugins/preemption/least_losses.h"
#include "plugins/preemption/queue_book.h"

namespace tephra {

// A job with tasks that may be evicted.
struct Candidate {
  struct Victim {
    TaskId task;
    std::uint32_t role = 0;
    std::int64_t cost = 0;
    Resources holds;
    std::int64_t loss = 0;  // EvictionWorth::LossOf
    std::int64_t wait = 0;  // what it costs that the task waits for its gang; if `alone`
    bool evicted = false;  // by the plan of this cycle
  };
  JobId job;
  Precedence rank;
  std::vector<Victim> victims;  // running tasks at the start of the cycle, by role, index
  std::uint32_t left = 0;       // how many of them are not evicted
  KindSet kinds = 0;            // of what they hold
  bool whole = true;            // every task that uses resources may be evicted
  bool alone = false;           // each of its tasks may go alone, also if that breaks the gang
  std::int32_t surplus = 0;     // tasks beyond the gang's minimum
  std::vector<std::int32_t> role_surplus;  // and beyond the minimum of each role

  EvictionCost cost() const;  // of all tasks that are not evicted
  std::int64_t loss() const;  // the same
  std::int64_t wait() const;  // the same
};

struct VictimRef {
  std::uint32_t candidate = 0;
  std::uint32_t victim = 0;

  auto operator<=>(const VictimRef&) const = default;
};

// The end of the victims from `begin` on that belong to one job.
std::size_t EndOfJob(std::span<const VictimRef> victims, std::size_t begin);

// False: no task could be evicted for the job, whatever its rights are. Looks at no task.
bool MayHaveVictims(const Snapshot& snapshot, JobId job);
// Whether jobs use anything outside of the queue and the queues under it.
bool AnyUsageOutside(const Snapshot& snapshot, QueueId queue);

class VictimBook {
 public:
  // The cost of evicting a task; none: the task must stay.
  using Price = std::function<std::optional<std::int64_t>(TaskId)>;
  // `price` is by default the cost from the policy Victims. `wait` is what it costs that the task waits
  // while other tasks of its job go alone. None: no task of the job goes alone.
  explicit VictimBook(const Workbench& later, Price price = nullptr, Price wait = nullptr)
      : later_(later), price_(std::move(price)), wait_(std::move(wait)) {}

  // --- rights of a gang (victim_rights.cc)

  // `asked`: the least that the job asks for.
  // Without `reclaims` it may preempt jobs of its own queue only.
  Rights RightsOf(JobId job, const Resources& asked, Ground ground, bool reclaims = true);
  // False: no task may be evicted for the job, whatever its rights are, or for these rights.
  bool AnyVictimFor(JobId job) const;
  bool AnyVictimFor(const Rights& rights) const;
  // Whether some queue has more than its own, so that jobs with these rights may reclaim from it.
  bool AnyBorrower(const Rights& rights) const { return queues().AnyBorrower(rights); }
  // What the jobs hold that the job may preempt.
  Resources LowerJobsHold(JobId job);
  // Whether the task may be evicted, as things stand on the ledger.
  bool MayEvict(const Rights& rights, const Candidate& candidate,
                const Candidate::Victim& victim) const;
  // If evictions of the victim, or of its gang if that would break, lose more than they may; or if all of
  // these together do.
  std::optional<ExcessLoss> ExcessOf(const Rights& rights, VictimRef ref) const;
  std::optional<ExcessLoss> ExcessOf(const Rights& rights, const std::vector<VictimRef>& victims) const;
  // The same if evictions that release so many GPUs lose too much, whichever they are.
  std::optional<ExcessLoss> ExcessOf(const Rights& rights, const LeastLosses& losses,
                                     std::int64_t gpus) const;
  // Of victims that these rights allow. Victims whose loss has no limit lose nothing.
  LeastLosses LeastLossesOf(const Rights& rights, const std::vector<VictimRef>& allowed) const;
  // Whether all of these tasks may be evicted for one gang: each queue keeps its share, the last
  // victim or the minimum of the last gang aside, and each disruption budget suffices. If a set may
  // be evicted, so may each part of it. REQUIRES: victims of one job are adjacent.
  bool MayEvictAll(const Rights& rights, const std::vector<VictimRef>& victims) const;
  // Whether the victims under the gang's own queues release what these queues owe. A part of such a
  // set may not be enough.
  bool Covers(const Rights& rights, const std::vector<VictimRef>& victims) const;
  // Notes in the rights what the queues of possible victims use now.
  void Weigh(Rights& rights, const std::vector<VictimRef>& allowed) const;
  // The most that evictions of these can release of a kind.
  std::int64_t MostOf(const Rights& rights, const std::vector<VictimRef>& allowed, Kind kind) const;
  std::vector<KindSet> OverIn(const Rights& rights) const { return queues().OverIn(rights); }

  // --- candidates (victim_book.cc)

  const std::vector<Candidate>& candidates();
  // The candidates for gangs of the queue, and maybe more. Indexes stay valid when the list grows.
  const std::vector<Candidate>& CandidatesFor(QueueId queue);
  const Candidate& of(VictimRef ref) const { return candidates_[ref.candidate]; }
  const Candidate::Victim& at(VictimRef ref) const {
    return candidates_[ref.candidate].victims[ref.victim];
  }
  // Whether the disruption budgets allow these evictions beside the earlier ones of this cycle.
  bool WithinBudgets(const std::vector<VictimRef>& victims) const;
  // Counts an eviction of the task against its disruption budgets.
  void Draw(TaskId task);
  // Marks them as evicted. REQUIRES: of each job its surplus or all of it.
  void Evicted(const std::vector<VictimRef>& victims);
  // The plan placed tasks of the job, so the job is no candidate from now on.
  void Placed(JobId job);
  // Whether evicting these, all of one job, takes the job below a minimum.
  bool Breaks(std::span<const VictimRef> of_one) const;
  // With what it costs that the other tasks of a job wait. If a set grows, so does its cost.
  // REQUIRES: tasks of one job are adjacent; if the evictions break a job, all of the job, unless `alone`.
  EvictionCost CostOf(std::span<const VictimRef> victims) const;
  const Snapshot& snapshot() const { return later_.ledger().snapshot(); }

 private:
  bool AnyLowerJob(QueueId queue, const Precedence& rank) const;
  Resources LowerJobsHold(QueueId queue, const Precedence& rank);
  bool preempts() const { return snapshot().config().enables("preempt"); }
  // Made on first use: most gangs that do not fit need neither.
  const QueueBook& queues() const;
  const LossLimit& LimitFor(const Rights& rights, const Candidate& candidate) const;
  void ToList(QueueId queue);
  const std::vector<Candidate>& List();
  void AddCandidate(JobId id);

  std::optional<std::int64_t> PriceOf(TaskId task);

  const Workbench& later_;
  Price price_, wait_;
  mutable std::optional<QueueBook> queues_;
  // What may be preempted in a queue: jobs by rank, each with what it and those before it hold.
  struct LowerJobs {
    std::uint64_t seen = 0;  // changes_, when it was made
    std::vector<std::pair<Precedence, Resources>> sums;
  };
  std::map<QueueId, LowerJobs> lower_jobs_;  // where asked
  std::uint64_t changes_ = 1;                // of candidates
  mutable std::map<QueueId, Precedence> lowest_;  // of jobs that run in the queue, where asked
  std::set<QueueId> listed_;    // queues whose jobs are candidates, or
  std::vector<JobId> to_list_;  // are about to become candidates
  std::vector<Candidate> candidates_;
  std::map<JobId, std::uint32_t> by_job_;      // index into candidates_
  std::set<JobId> placed_;                     // before their queue was listed
  std::map<std::string, std::int32_t> drawn_;  // evictions of this cycle by disruption budget
};

}  // namespace tephra
