// EvictionOracle: the fewest and cheapest victims for a gang, by brute force. Shares and costs come
// from the engine. Which task may be evicted for which, and what fits, is computed independently.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/policy.h"
#include "plugins/preemption/eviction_cost.h"
#include "tests/support/mirror.h"
#include "tests/support/room.h"

namespace tephra {

class EvictionOracle {
 public:
  EvictionOracle(const Books& books, TimeMs now);

  struct Verdict {
    bool possible = false, given_up = false;
    EvictionCost cost;
  };

  // The best there is for the job, as things stand in the mirror: by shares, or else by what queues
  // deserve. `placed`: jobs of which the plan has placed tasks; `evicted`: pods that it evicts.
  Verdict Best(const Mirror& mirror, const std::string& preemptor,
               const std::set<std::string>& placed, const std::set<std::string>& evicted);

 private:
  Verdict BestBy(const Mirror& mirror, const std::string& preemptor,
                 const std::set<std::string>& placed);

  // Tasks of one job that are evicted together count as one if the gang is broken.
  struct Part {
    std::string queue;
    Resources holds, largest;
    std::vector<std::string> uids;
    std::int64_t loss = 0;    // of work, in GPU-milliseconds
    std::int64_t largest_loss = 0;  // of a task beyond the minimum, or of the gang
  };
  struct Option {
    EvictionCost cost;
    std::vector<Part> parts;
  };

  Resources Demand(const PodTemplate& pod) const;

  Resources HoldsOf(const MirrorTask& task) const { return mirror_->Amounts(task); }

  // What jobs of the queue and under it hold, without terminating tasks.
  Resources Held(const std::string& queue) const;

  // How much is the queue's own: what it deserves, or else its share.
  std::int64_t ShareOf(const std::string& queue, Kind kind, bool by_deserved) const;

  // The same for a queue of a victim's side. Of what a queue deserves, queues that are not beside it respect only
  // the part that the queue above it deserves, too.
  std::int64_t Protected(const std::string& queue, const std::vector<std::string>& side, Kind kind) const;

  // If deserved amounts count: whether the job's own queue deserves any of the kind.
  bool Counts(const std::string& mine, Kind kind) const;

  // From the queue to the top.
  std::vector<std::string> Path(std::string queue) const;

  // The kinds asked for of which not every queue right under `parent` can have what it asks for.
  std::set<Kind> Scarce(const std::string& mine, const std::string& parent) const;

  // The victim's queues below the one that both have in common; none: nothing is reclaimed there.
  std::vector<std::string> Side(const std::string& mine, const std::string& theirs) const;

  // Whether each of the queues holds more of the kind than its own.
  bool Over(const std::vector<std::string>& side, Kind kind) const;
  std::string Above(const std::string& queue) const;

  bool HoldsNothingScarce(const MirrorJob& job, const MirrorJob& other, const MirrorTask& task) const;
  bool MayTake(const MirrorJob& job, const MirrorJob& other, const MirrorTask& task) const;

  std::vector<Option> Options(const MirrorJob& job, const MirrorJob& other) const;

  // No queue is brought below its share but by the last of its victims.
  bool Allowed(const MirrorJob& job, const Option& option) const;

  // Reclaimed tasks lose no more work than the wait of the job is worth.
  bool Worthwhile(const MirrorJob& job, const Option& option) const;
  // Whether the queue stays within its deserved amount at so many levels from it up.
  bool InQuota(const std::string& queue, std::size_t levels) const;

  // No disruption budget is overdrawn, with what the plan has drawn on it before.
  bool Affordable(const Option& option) const;

  bool Fits(const MirrorJob& job, const GangWish& wish, const Option& option) const;

  Share::Answer shares_;
  const QueueTree& queues_;
  std::map<std::string, std::int64_t> costs_;                // by pod
  std::map<std::string, std::int64_t> losses_;               // by pod
  LossSettings reclaim_;
  TimeMs now_;
  std::map<std::string, std::vector<std::string>> budgets_;  // by pod
  std::map<std::string, std::int32_t> allowed_;              // by budget
  std::set<std::string> evicted_;
  const Mirror* mirror_ = nullptr;
  Resources asked_;
  bool by_deserved_ = false;  // a queue's own is what it deserves, and not its share
};

}  // namespace tephra
