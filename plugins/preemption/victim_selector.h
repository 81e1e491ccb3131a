// VictimSelector: of tasks that may leave, the cheapest set that makes room for a gang.
//
// It first solves a relaxation, which is all that large cases need, and then searches exactly
// within a budget. The caller says which tasks may leave together and when the gang fits, so the
// same search serves evictions and migrations.
//
// One per cycle, owned by the eviction or the migration search. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "engine/workbench.h"
#include "plugins/preemption/node_table.h"
#include "plugins/preemption/victim_book.h"
#include "plugins/preemption/victim_search.h"

namespace tephra {

class VictimSelector {
 public:
  // The tasks that may leave.
  struct Pool {
    std::vector<VictimRef> allowed;  // sorted; some may be evicted since
    VictimsByNode by_node;
    std::map<ClassId, NodeTable> tables;

    void Add(const VictimBook& book, VictimRef ref);
  };
  struct Rules {
    VictimSearch::Rules sets;
    // Whether the gang fits on the ledger, which is left as it was. Tasks that were freed there
    // must fit somewhere, too, if they are to migrate.
    std::function<VictimSearch::Fits(const GangAsk&)> fits;
    // Whether counts alone prove that no set of victims helps.
    std::function<bool(const GangAsk&)> hopeless;
    // The gang lacks only room, and victims need no other node. Then all victims are on the nodes that
    // the gang uses, or in gangs that lose a task there.
    bool room_alone = false;
    // Above 0: of more tasks than this the exact search tries only the tasks on the nodes that
    // allowed tasks use least, and proves nothing.
    std::size_t most_tried = 0;
  };
  VictimSelector(Workbench& later, const VictimBook& book, std::int32_t budget)
      : later_(later), book_(book), budget_(budget) {}

  // Adds the steps of the search to `steps`. For a gang that must run in one domain, sets the
  // domain of the answer in `ask`.
  VictimSearch::Answer Run(const Rules& rules, Pool& pool, GangAsk& ask, std::int32_t& steps);

 private:
  VictimSearch::Answer Search(const Rules& rules, Pool& pool, const GangAsk& ask,
                              std::int32_t& steps);
  std::int32_t StepsOfATry(Pool& pool, const GangAsk& ask);
  bool OneTaskShort(Pool& pool, const GangAsk& ask);
  VictimSearch::Answer OnOneNode(const Rules& rules, Pool& pool, const GangAsk& ask);
  VictimSearch::Answer Relax(const Rules& rules, Pool& pool, const GangAsk& ask);
  std::optional<EvictionCost> LeastCost(Pool& pool, const GangAsk& ask);
  NodeTable& TableOf(Pool& pool, ClassId cls);
  std::vector<VictimRef> Helpful(const Pool& pool, const GangAsk& ask) const;
  std::vector<VictimRef> LeastUsed(const Pool& pool, std::vector<VictimRef> refs,
                                   std::size_t most) const;
  bool Complete(const Pool& pool, std::vector<VictimRef>& victims) const;
  const Snapshot& snapshot() const { return later_.ledger().snapshot(); }

  Workbench& later_;
  const VictimBook& book_;
  std::int32_t budget_;
};

}  // namespace tephra
