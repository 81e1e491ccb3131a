// QueueBook: what each queue is entitled to, and what it uses beyond that, on a ledger.
//
// One per cycle, owned by the VictimBook. One thread.
#pragma once

#include <map>
#include <vector>

#include "engine/loss_limit.h"
#include "engine/policy.h"
#include "engine/priority.h"
#include "engine/workbench.h"

namespace tephra {

// What a queue is entitled to: its fair share, or only what it deserves.
enum class Ground : std::uint8_t { kShare, kDeserved };

// What one gang may have evicted.
struct Rights {
  Ground ground = Ground::kShare;
  QueueId queue;
  Precedence rank;     // of the gang's job, now
  KindSet kinds = 0;   // requested kinds that count
  KindSet models = 0;  // requested GPU models, if each requested GPU is of one model
  // The gang may reclaim from queues beside the first `levels` queues from its own queue up. For
  // each of these queues, `owed` is what victims must release under that queue itself.
  std::size_t levels = 0;
  std::vector<Resources> owed;
  // For the first `in_quota` of these levels the gang's queue stays within its deserved or guaranteed amount. Victims
  // may lose as much as `quota_limit` there, and as `share_limit` at other levels.
  std::size_t in_quota = 0;
  LossLimit quota_limit, share_limit;
  // The first queue that would exceed its share, and the kind; invalid if there is none.
  QueueId over;
  Kind over_kind = kGpu;
  std::int64_t over_share = 0, over_holds = 0, over_asked = 0;
  // Set by VictimBook::Weigh: what the queues of possible victims use before any eviction, and the
  // kinds that limit evictions from each queue.
  std::map<QueueId, Resources> others;
  std::map<QueueId, KindSet> judged;
};

class QueueBook {
 public:
  explicit QueueBook(const Workbench& later);

  const Share::Answer& shares() const { return shares_; }
  const Resources& holds(QueueId queue) const {
    return later_.ledger().occupancy().queue_total(queue);
  }
  // How much of the kind the queue is entitled to. Share::kNotShared: the kind does not count.
  std::int64_t OwnOf(Ground ground, QueueId queue, Kind kind) const;
  // The same for a queue on a victim's side. What a queue deserves protects it in full only from
  // queues beside it. From queues farther away it is protected as far as the queue above it deserves that.
  std::int64_t OwnOf(const Rights& rights, QueueId queue, Kind kind) const;
  bool Under(QueueId queue, QueueId top) const;
  // The victim's side: its queue and the queues above it, below the first queue that it has in
  // common with the gang. False if nothing may be reclaimed from there. `level` is the index of the
  // gang's queue beside the last queue of the side.
  bool SideOf(const Rights& rights, QueueId victim, std::vector<QueueId>& side,
              std::size_t* level = nullptr) const;
  // How many queues from that one up stay within their deserved or guaranteed amounts if the queue gets
  // so much more. Kinds without such an amount do not count.
  std::size_t LevelsInQuota(QueueId queue, const Resources& asked) const;
  // The kinds whose amounts decide what may be reclaimed from the side.
  KindSet Scarce(const Rights& rights, const std::vector<QueueId>& side) const;
  // The kinds in which each queue of the side must stay above its entitlement. By share: kinds that
  // are scarce among the queues beside the side. By deserved: kinds of which each uses more.
  KindSet Judged(const Rights& rights, const std::vector<QueueId>& side) const;
  // Of the kinds, the kinds in which the queue uses more than its entitlement.
  KindSet OverIn(const Rights& rights, QueueId queue, KindSet kinds) const;
  // The same for each queue. The set of possible victims changes only when this answer changes.
  std::vector<KindSet> OverIn(const Rights& rights) const;
  // Whether some queue with jobs uses more than its entitlement. False: nothing can be reclaimed.
  bool AnyBorrower(const Rights& rights) const;

 private:
  const QueueTree& queues() const { return later_.ledger().snapshot().queues(); }

  const Workbench& later_;
  Share::Answer shares_;
  // By QueueId, for the queues right under it; last: for the top queues. Kinds of which at least
  // one of these queues has a share below its demand.
  std::vector<KindSet> scarce_;
};

}  // namespace tephra
