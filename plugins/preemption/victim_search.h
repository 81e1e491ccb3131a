// VictimSearch: the fewest and cheapest of those who may be evicted for a gang, so that it fits:
// exact, unless the budget of steps ends first.
//
// First all of them go: if the gang does not fit then, it never does. Then jobs are given back, the
// dearest first, as long as it still fits; and then everything else that could cost less is tried.
// What is still open counts as gone, so each try that fails settles all below it.
#pragma once

#include <functional>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/preemption/toll.h"
#include "plugins/preemption/victim_book.h"

namespace tephra {

class VictimSearch {
 public:
  enum class Fits { kYes, kNo, kUnknown };
  // Of sets of victims in which those of one job stand together.
  struct Rules {
    // Whether these may all leave for one gang. Of a set that may, so may each part.
    std::function<bool(const std::vector<VictimRef>&)> may_all_go;
    // Whether these are enough to be taken. Of a set that is, a part need not be.
    std::function<bool(const std::vector<VictimRef>&)> covers;
  };
  // `fits` tries the gang on the ledger and leaves no trace there; each try takes `step_cost`
  // steps.
  VictimSearch(Ledger& ledger, const VictimBook& book, Rules rules, std::vector<VictimRef> takeable,
               std::function<Fits()> fits, std::int32_t step_cost, std::int32_t budget);

  struct Answer {
    bool found = false;
    bool exact = true;  // what was found is the best there is, or there is nothing to find
    Toll toll;
    std::vector<VictimRef> victims;  // sorted
    std::int32_t steps = 0;
  };
  // `known`: a solution to start with, or nothing found.
  Answer Run(Answer known);

 private:
  struct Job {
    std::uint32_t candidate = 0;
    std::vector<VictimRef> victims;
    Toll toll;           // of all
    bool whole = false;  // all of it may go
  };

  bool Try();
  void Decide(std::size_t j, const Toll& toll);
  void DecideTasks(std::size_t j, std::size_t v, std::size_t gone, const Toll& toll);
  void GiveBack(VictimRef ref);
  bool Ended() const { return steps_ > budget_; }

  Ledger& ledger_;
  const VictimBook& book_;
  Rules rules_;
  std::function<Fits()> fits_;
  std::int32_t step_cost_, budget_, steps_ = 0;
  bool unsure_ = false;  // some try ended without an answer
  std::vector<Job> jobs_;
  std::vector<VictimRef> gone_;  // decided, in the order of decision
  Answer best_;
};

}  // namespace tephra
