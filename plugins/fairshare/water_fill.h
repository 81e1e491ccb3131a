// WaterFill: the fair share of every queue of a tree, for one kind of resource. Exact.
//
// The amount of a queue is filled into its child queues, level by level, in three steps. Each step
// uses only what the step before it leaves:
//   1. what each queue is guaranteed,
//   2. what each queue deserves,
//   3. the rest, by weight.
// A queue with child queues is guaranteed at least what they are. It deserves its own amount, or, if
// it has none, what the child queues deserve and can use.
// No queue is filled above its demand (its own and the demand of the queues under it) or its limit.
// If a step cannot be met in full, all queues get the same part of their quota, or as much as they
// can use. Nothing is left while a queue can use it: idle parts are lent.
//
// Sources: weighted max-min fairness (Bertsekas and Gallager, Data Networks, 6.5.2); the three
// steps are Volcano's guarantee, deserved and weight. Pure functions, no thread rule.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tephra {

struct FillQueue {
  static constexpr std::int32_t kTop = -1;

  std::int32_t parent = kTop;  // index; any order
  double weight = 1;           // above 0
  double guarantee = 0;
  double deserved = 0;  // 0: none
  double limit = std::numeric_limits<double>::infinity();
  double demand = 0;  // without the queues under it
  double usage = 0;   // past usage, also without them: amount times milliseconds, decayed
};

// Past usage lowers the weight of a queue. Let W be the part of the queue in the sum of weights,
// and u its usage as a part of the whole amount used forever, so sum(u) <= 1. Its weight becomes W
// + k (W sum(u) - u), but at least W / 100. A queue that used as much as its weight says keeps its
// weight. Guarantees and deserved amounts do not change.
//
// Source: the time-aware fairness of KAI-Scheduler, docs/timeaware. It also measures usage by
// capacity, so a little usage of an idle cluster weighs little.
struct PastUsage {
  double weight = 0;      // k; 0: past usage does not count
  double endless_ms = 1;  // the usage of one unit that is used forever
};

// Which queues are under which. The same for all kinds of resources.
class FillTree {
 public:
  // Only the parents count.
  explicit FillTree(const std::vector<FillQueue>& queues);

  // The queues right under that one; under the index behind the last: the top queues.
  std::span<const std::int32_t> Under(std::size_t queue) const {
    return std::span(members_).subspan(static_cast<std::size_t>(first_[queue]),
                                       static_cast<std::size_t>(first_[queue + 1] - first_[queue]));
  }
  // Parents before the queues under them.
  const std::vector<std::int32_t>& down() const { return down_; }

 private:
  std::vector<std::int32_t> first_, members_;  // members of q: [first_[q], first_[q + 1])
  std::vector<std::int32_t> down_;
};

// One amount per queue. The own demand of a queue with child queues is served as if it were one
// more child, of weight 1 and without quotas. REQUIRES: parents form no cycle; no amount is below
// zero.
std::vector<double> WaterFill(const FillTree& tree, const std::vector<FillQueue>& queues,
                              double capacity, const PastUsage& past = {});
inline std::vector<double> WaterFill(const std::vector<FillQueue>& queues, double capacity,
                                     const PastUsage& past = {}) {
  return WaterFill(FillTree(queues), queues, capacity, past);
}

}  // namespace tephra
