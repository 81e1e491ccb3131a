// The fair share of every queue of a tree, for one kind of resource: an exact water-fill.
//
// What a queue has is filled into the queues right under it, and so on down, in three steps, each
// only with what the one before leaves:
//   1. what each is guaranteed,
//   2. what each deserves,
//   3. the rest by weight.
// No queue is filled above what it can use: its demand (its own and that of the queues under it),
// and its limit. Where a step cannot be met in full, all get the same part of what was promised to
// them, or as much as they can use. Nothing is left while somebody can use it: idle parts are lent.
//
// Sources: weighted max-min fairness (Bertsekas and Gallager, Data Networks, 6.5.2); the three
// steps are Volcano's guarantee, deserved and weight. Pure functions, no thread rule.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tephra {

struct FillQueue {
  static constexpr std::int32_t kTop = -1;

  std::int32_t parent = kTop;  // index; any order
  double weight = 1;           // above 0
  double guarantee = 0;
  double deserved = 0;
  double limit = std::numeric_limits<double>::infinity();
  double demand = 0;  // its own, without the queues under it
  double usage = 0;   // in the past, likewise: amount times milliseconds, decayed
};

// What was used in the past counts against the weight. With W the part of the weights of those who
// share an amount that one of them has, and u what it used, measured by what the whole amount would
// have been for ever (so sum(u) <= 1), its weight becomes W + k (W sum(u) - u), but at least W /
// 100: who used as its weight says keeps it. Promises are untouched.
//
// Source: the time-aware fairness of KAI-Scheduler, docs/timeaware, which also measures usage by
// capacity, so that a little use of an idle cluster weighs little.
struct PastUsage {
  double weight = 0;      // k; 0: it does not count
  double endless_ms = 1;  // what one unit, held for ever, has used
};

// One amount a queue. The demand that a queue with others under it has itself is served beside
// them as if it were one more, of weight 1 and without promises. REQUIRES: parents form no cycle;
// no amount is below zero.
std::vector<double> WaterFill(const std::vector<FillQueue>& queues, double capacity,
                              const PastUsage& past = {});

}  // namespace tephra
