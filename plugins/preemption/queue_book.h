// QueueBook: what is each queue's own and what it has been lent, as things stand on a ledger.
#pragma once

#include <map>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/framework/priority.h"
#include "plugins/framework/workbench.h"

namespace tephra {

// By what a queue's own is told from what it has been lent.
enum class Ground : std::uint8_t { kShare, kPromise };

// What a gang may take.
struct Rights {
  Ground ground = Ground::kShare;
  QueueId queue;
  Precedence rank;     // as it counts now
  KindSet kinds = 0;   // that it asks for and that count
  KindSet models = 0;  // the GPU models that it asks for, if each of its GPUs is of one
  // Up to which of the queues from its own to the top it may reclaim from those beside it, and what
  // has to go at the least from under each of these queues itself if it does.
  std::size_t levels = 0;
  std::vector<Resources> owed;
  // The first that would pass its share, in which kind, where there is one.
  QueueId over;
  Kind over_kind = kGpu;
  std::int64_t over_share = 0, over_holds = 0, over_asked = 0;
  // What the queues that victims may come from hold before any of them goes, and the kinds that are
  // judged of those in each (VictimBook::Weigh).
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
  // How much of the kind is the queue's own; Share::kNotShared: that does not count.
  std::int64_t OwnOf(Ground ground, QueueId queue, Kind kind) const;
  bool Under(QueueId queue, QueueId top) const;
  // The queues from the victim's up to below the one that it has in common with the gang's; false
  // if nothing may be reclaimed that way. `level`: of the gang's queues, the one beside the last.
  bool SideOf(const Rights& rights, QueueId victim, std::vector<QueueId>& side,
              std::size_t* level = nullptr) const;
  // The kinds in which all these queues, a side, must hold more than their own to lose any: those
  // that not all beside them can have enough of. Of what was promised, those in which they do.
  KindSet Judged(const Rights& rights, const std::vector<QueueId>& side) const;
  // Of the kinds, those in which the queue holds more than its own.
  KindSet OverIn(Ground ground, QueueId queue, KindSet kinds) const;
  // Those in which each queue does: while they stay the same, so does who may be taken.
  std::vector<KindSet> OverIn(const Rights& rights) const;
  // Whether a queue that has jobs could lose some. False: nobody may be reclaimed.
  bool AnyLender(const Rights& rights) const;

 private:
  const QueueTree& queues() const { return later_.ledger().snapshot().queues(); }

  const Workbench& later_;
  Share::Answer shares_;
  std::vector<KindSet> scarce_;  // by QueueId: among the queues right under it; last: the top
};

}  // namespace tephra
