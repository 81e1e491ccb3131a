// VictimBook: whom a cycle may evict, and for whom.
//
// For a gang, tasks may be evicted of
//   - jobs of its own queue that have a lower priority (preemption), and
//   - jobs of other queues that hold more than is theirs, if the gang's own queue stays within what
//     is its own (reclaim). That is the fair share, or what was promised if that is more, in the
//     kinds that the gang asks for and that not everybody can have; or, where that does not help,
//     for room may lie in pieces though all shares add up, what a queue deserves, in the kinds of
//     which it holds more. Both are judged at each level of the queue tree below the queue that the
//     two have in common. A queue may be brought below its own by the last of its victims only, or
//     by the minimum of its last gang, so what is reclaimed is never reclaimed back.
// A job's tasks beyond its minimum go one by one; else all of it goes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"
#include "plugins/preemption/queue_book.h"
#include "plugins/preemption/toll.h"

namespace tephra {

// A job some of which may be evicted.
struct Candidate {
  struct Victim {
    TaskId task;
    std::uint32_t role = 0;
    std::int64_t cost = 0;
    Resources holds;
    bool gone = false;  // evicted by this cycle's plan
  };
  JobId job;
  Precedence rank;
  std::vector<Victim> victims;             // that ran when the cycle began, by role and index
  std::uint32_t left = 0;                  // of them, not gone
  bool whole = true;                       // all that holds room of it may go
  std::int32_t surplus = 0;                // tasks beyond the gang's minimum,
  std::vector<std::int32_t> role_surplus;  // and beyond each role's

  Toll toll() const;  // of all that is left
};

struct VictimRef {
  std::uint32_t candidate = 0;
  std::uint32_t victim = 0;

  auto operator<=>(const VictimRef&) const = default;
};

// The end of the victims from `begin` on that are of one job.
std::size_t EndOfJob(std::span<const VictimRef> victims, std::size_t begin);

// False: nobody is there who could be evicted for the gang, whatever it has a right to. This looks
// at no task.
bool AnybodyFor(const Snapshot& snapshot, const GangAsk& ask);
// Whether jobs of another queue hold anything.
bool AnybodyBeside(const Snapshot& snapshot, QueueId queue);

class VictimBook {
 public:
  // What it costs that a task leaves; none: it does not.
  using Price = std::function<std::optional<std::int64_t>(TaskId)>;
  // `price` left out: by Victims.
  explicit VictimBook(const Workbench& later, Price price = nullptr)
      : later_(later), price_(std::move(price)) {}

  Rights RightsOf(const GangAsk& ask, Ground ground);
  // AnybodyFor of what these rights allow.
  bool AnyFor(const Rights& rights) const;
  // Of others, as things stand on the ledger.
  bool MayTake(const Rights& rights, const Candidate& candidate,
               const Candidate::Victim& victim) const;
  // Whether these may all go for one gang: no queue loses more than what it holds above its own,
  // the last victim or the last gang's minimum aside, and no disruption budget is overdrawn. Of a
  // set that may, so may each part. REQUIRES: those of one job stand together.
  bool MayAllGo(const Rights& rights, const std::vector<VictimRef>& victims) const;
  // Whether enough goes from the gang's own queues for it to take these. Of a set of which that is
  // true it need not be true of each part.
  bool Covers(const Rights& rights, const std::vector<VictimRef>& victims) const;
  // Notes what the queues of those who may be taken hold now.
  void Weigh(Rights& rights, const std::vector<VictimRef>& takeable) const;

  const std::vector<Candidate>& candidates();
  // Those that may go for somebody in the queue, and maybe others. Places in it stay when it grows.
  const std::vector<Candidate>& CandidatesFor(QueueId queue);
  const Candidate& of(VictimRef ref) const { return candidates_[ref.candidate]; }
  const Candidate::Victim& at(VictimRef ref) const {
    return candidates_[ref.candidate].victims[ref.victim];
  }
  // No disruption budget is overdrawn by these, beside those of this cycle who left before.
  bool WithinBudgets(const std::vector<VictimRef>& victims) const;
  // The task leaves, so its disruption budgets are drawn on.
  void Draw(TaskId task);
  // They are evicted. REQUIRES: of each job its surplus or all of it.
  void Evicted(const std::vector<VictimRef>& victims);
  // The job is not to be evicted any more.
  void Placed(JobId job);
  // What the jobs beside the gang's queue, or it itself, can give at the most of a kind.
  std::int64_t MostOf(const Rights& rights, const std::vector<VictimRef>& takeable,
                      Kind kind) const;
  std::vector<KindSet> OverIn(const Rights& rights) const { return queues().OverIn(rights); }
  // Whether to evict these, all of one job, leaves it below a minimum.
  bool Breaks(std::span<const VictimRef> of_one) const;
  // What it costs to evict them. REQUIRES: sorted; of a job that this breaks, all.
  Toll TollOf(std::span<const VictimRef> victims) const;
  const Snapshot& snapshot() const { return later_.ledger().snapshot(); }

 private:
  bool preempts() const { return snapshot().config().enables("preempt"); }
  // Made when they are first asked for: most gangs that do not fit need neither.
  const QueueBook& queues() const;
  void ToList(QueueId queue);
  const std::vector<Candidate>& List();
  void AddCandidate(JobId id);

  std::optional<std::int64_t> PriceOf(TaskId task);

  const Workbench& later_;
  Price price_;
  mutable std::optional<QueueBook> queues_;
  std::set<QueueId> listed_;    // whose jobs are candidates, or
  std::vector<JobId> to_list_;  // to become them
  std::vector<Candidate> candidates_;
  std::map<JobId, std::uint32_t> by_job_;      // index into candidates_
  std::set<JobId> placed_;                     // before they were listed
  std::map<std::string, std::int32_t> drawn_;  // evictions of this cycle by disruption budget
};

}  // namespace tephra
