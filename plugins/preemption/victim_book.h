// VictimBook: whom a cycle may evict, and for whom.
//
// For a gang, tasks may be evicted of
//   - jobs of its own queue that have a lower priority (preemption), and
//   - jobs of other queues that hold more than is theirs, if the gang's own queue stays within what
//     is its own (reclaim). That is the fair share, in the kinds that the gang asks for and that
//     not everybody can have; or, where that does not help, for room may lie in pieces though all
//     shares add up, what a queue deserves. Both are judged at each level of the queue tree below
//     the queue that the two have in common. A queue may be brought below its own by the last of
//     its victims only, so what is reclaimed is never reclaimed back.
// A job's tasks beyond its minimum go one by one; else all of it goes.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"
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

// By what a queue's own is told from what it has been lent.
enum class Ground : std::uint8_t { kShare, kPromise };

// What a gang may take.
struct Rights {
  Ground ground = Ground::kShare;
  QueueId queue;
  std::int64_t priority = 0;  // as it counts now
  KindSet kinds = 0;          // that it asks for and that count
  // Up to which of the queues from its own to the top it may reclaim from those beside it, and what
  // has to go at the least from under each of these queues itself if it does.
  std::size_t levels = 0;
  std::vector<Resources> owed;
  // The first that would pass its share, in which kind, where there is one.
  QueueId over;
  Kind over_kind = kGpu;
  std::int64_t over_share = 0, over_holds = 0, over_asked = 0;
  // What the queues that victims may come from hold before any of them goes (Weigh).
  std::map<QueueId, Resources> others;
};

class VictimBook {
 public:
  VictimBook(const Workbench& later, const Policies& policies);

  Rights RightsOf(const GangAsk& ask, Ground ground) const;
  // Of others, as things stand on the ledger.
  bool MayTake(const Rights& rights, const Candidate& candidate,
               const Candidate::Victim& victim) const;
  // Whether these may all go for one gang: no queue loses more than what it holds above its share,
  // the last victim aside, and no disruption budget is overdrawn. Of a set that may, so may each
  // part. REQUIRES: those of one job stand together.
  bool MayAllGo(const Rights& rights, const std::vector<VictimRef>& victims) const;
  // Whether enough goes from the gang's own queues for it to take these. Of a set of which that is
  // true it need not be true of each part.
  bool Covers(const Rights& rights, const std::vector<VictimRef>& victims) const;
  // Notes what the queues of those who may be taken hold now.
  void Weigh(Rights& rights, const std::vector<VictimRef>& takeable) const;

  // Nobody may be evicted for anybody, nor wait for room that is being left.
  bool nobody() const { return !reclaim_ && !preempt_; }
  // Whether anybody of another queue could be evicted, if not for this gang.
  bool AnyBeside(QueueId queue) const;
  const std::vector<Candidate>& candidates() const { return candidates_; }
  const Candidate::Victim& at(VictimRef ref) const {
    return candidates_[ref.candidate].victims[ref.victim];
  }
  // They are evicted. REQUIRES: of each job its surplus or all of it.
  void Evicted(const std::vector<VictimRef>& victims);
  // The job is not to be evicted any more.
  void Placed(JobId job);
  // What the jobs beside the gang's queue, or it itself, can give at the most of a kind.
  std::int64_t MostOf(const Rights& rights, const std::vector<VictimRef>& takeable,
                      Kind kind) const;
  // The kinds in which each queue holds more than its share: while they stay the same, so does who
  // may be taken.
  std::vector<KindSet> OverIn(const Rights& rights) const;
  // Whether to evict these, all of one job, leaves it below a minimum.
  bool Breaks(std::span<const VictimRef> of_one) const;
  // What it costs to evict them. REQUIRES: sorted; of a job that this breaks, all.
  Toll TollOf(std::span<const VictimRef> victims) const;
  const Snapshot& snapshot() const { return later_.ledger().snapshot(); }

 private:
  // The queues from the victim's up to below the one that it has in common with the gang's, or none
  // if nothing may be reclaimed that way.
  // `level`: of the gang's queues, the one beside the last of the side.
  bool SideOf(const Rights& rights, QueueId victim, std::vector<QueueId>& side,
              std::size_t* level = nullptr) const;
  // The kinds that count between the queue and those beside it.
  KindSet CountBeside(const Rights& rights, QueueId queue) const;
  bool Over(Ground ground, QueueId queue, KindSet kinds) const;
  // How much of the kind is the queue's own; Share::kNotShared: that does not count.
  std::int64_t OwnOf(Ground ground, QueueId queue, Kind kind) const;
  bool Under(QueueId queue, QueueId top) const;

  const Workbench& later_;
  const Policies& policies_;
  Share::Answer shares_;
  std::vector<KindSet> scarce_;  // by QueueId: among the queues right under it; last: the top
  std::vector<Candidate> candidates_;
  std::map<JobId, std::uint32_t> by_job_;      // index into candidates_
  std::map<std::string, std::int32_t> drawn_;  // evictions of this cycle by disruption budget
  bool reclaim_ = true, preempt_ = true;
};

}  // namespace tephra
