// VictimSearch: the cheapest set of tasks to evict so that a gang fits. The answer is exact unless
// the budget of steps ends first.
//
// The search starts with every allowed task evicted: if the gang does not fit then, it never fits.
// It then gives jobs back, the most expensive first, while the gang still fits, and tries every
// other choice that could cost less. Tasks without a decision count as evicted, so a failed try
// rules out everything below it.
//
// Made for one gang, used once. One thread.
#pragma once

#include <functional>
#include <vector>

#include "engine/policy.h"
#include "plugins/preemption/eviction_cost.h"
#include "plugins/preemption/victim_book.h"

namespace tephra {

class VictimSearch {
 public:
  enum class Fits { kYes, kNo, kUnknown };
  // Questions about sets of victims. In each set the victims of one job are adjacent.
  struct Rules {
    // Whether all may be evicted for one gang. If so, each part of the set may be, too.
    std::function<bool(const std::vector<VictimRef>&)> may_evict_all;
    // Whether they are enough. A part of such a set may not be enough.
    std::function<bool(const std::vector<VictimRef>&)> covers;
  };
  // `fits` tries the gang on the ledger and leaves the ledger as it was; each try takes `step_cost`
  // steps.
  VictimSearch(Ledger& ledger, const VictimBook& book, Rules rules, std::vector<VictimRef> allowed,
               std::function<Fits()> fits, std::int32_t step_cost, std::int32_t budget);

  struct Answer {
    bool found = false;
    bool exact = true;  // proven: no cheaper set exists, or no set at all
    EvictionCost cost;
    std::vector<VictimRef> victims;  // sorted
    std::int32_t steps = 0;
  };
  // `known`: a solution to start with, or an answer without one.
  Answer Run(Answer known);

 private:
  struct Job {
    std::uint32_t candidate = 0;
    std::vector<VictimRef> victims;
    EvictionCost cost;   // of all its victims
    bool whole = false;  // the whole job may be evicted
  };

  bool Try();
  void Decide(std::size_t j, const EvictionCost& cost);
  void DecideTasks(std::size_t j, std::size_t v, std::size_t chosen, const EvictionCost& before,
                   const EvictionCost& cost);
  void GiveBack(VictimRef ref);
  bool Ended() const { return steps_ > budget_; }

  Ledger& ledger_;
  const VictimBook& book_;
  Rules rules_;
  std::function<Fits()> fits_;
  std::int32_t step_cost_, budget_, steps_ = 0;
  bool unsure_ = false;  // some try ended without an answer
  std::vector<Job> jobs_;
  std::vector<VictimRef> chosen_;  // to be evicted, in the order of decision
  Answer best_;
};

}  // namespace tephra
