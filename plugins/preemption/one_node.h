// OneNode: the cheapest victims that make room for one more task of a gang.
//
// One more task needs room on one node. So victims that stand in the way there are enough, with the
// rest of the gangs that lose such a task. Each node is searched separately, and the number of tasks in
// the cluster does not matter.
//
// Made for one gang, used once. One thread.
#pragma once

#include <functional>
#include <vector>

#include "plugins/preemption/node_table.h"
#include "plugins/preemption/victim_book.h"
#include "plugins/preemption/victim_search.h"

namespace tephra {

class OneNode {
 public:
  // `complete` adds the rest of each gang that the victims break; false: it may not be evicted.
  // `fits` tries the gang on the ledger of `later`, and leaves it as it was.
  OneNode(Workbench& later, const VictimBook& book, const VictimSearch::Rules& rules, ClassId cls,
          std::function<bool(std::vector<VictimRef>&)> complete,
          std::function<VictimSearch::Fits()> fits, std::int32_t budget)
      : later_(later),
        book_(book),
        rules_(rules),
        cls_(cls),
        complete_(std::move(complete)),
        fits_(std::move(fits)),
        budget_(budget) {}

  // The answer may not be exact in three cases: the budget of steps ended, a set of victims makes room
  // but another rule forbids the start, or a queue would have to release more on other nodes.
  VictimSearch::Answer Run(const std::vector<NodeTable::Option>& options);

 private:
  struct Here;  // the node in question

  void Decide(Here& here, std::size_t piece, const EvictionCost& cost);
  void TryAll(const std::vector<VictimRef>& victims);
  bool SeemsAlike(const Here& here, std::size_t piece) const;
  bool Ended() const { return best_.steps > budget_; }
  void MayMiss(const EvictionCost& least) { missed_ = std::min(missed_, least); }

  Workbench& later_;
  const VictimBook& book_;
  const VictimSearch::Rules& rules_;
  const ClassId cls_;
  const std::function<bool(std::vector<VictimRef>&)> complete_;
  const std::function<VictimSearch::Fits()> fits_;
  const std::int32_t budget_;
  VictimSearch::Answer best_;
  EvictionCost missed_ = EvictionCost::Most();  // a set that was not found costs at least that
};

}  // namespace tephra
