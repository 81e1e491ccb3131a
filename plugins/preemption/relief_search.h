// ReliefSearch: of tasks that may leave, the fewest and cheapest that have to, so that a gang fits:
// a relaxation first, which all that large cases need, then the exact search within a budget.
//
// Who may leave, with whom, and what it takes that the gang fits, is for whoever asks: to be
// evicted or to be moved.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "plugins/framework/workbench.h"
#include "plugins/preemption/node_table.h"
#include "plugins/preemption/victim_book.h"
#include "plugins/preemption/victim_search.h"

namespace tephra {

class ReliefSearch {
 public:
  // Who may leave.
  struct Reach {
    std::vector<VictimRef> takeable;  // sorted; some may be gone since
    VictimsByNode by_node;
    std::map<ClassId, NodeTable> tables;

    void Add(const VictimBook& book, VictimRef ref);
  };
  struct Rules {
    VictimSearch::Rules sets;
    // Whether the gang fits on the ledger, which is left as it was, as those who are freed there
    // have to fit somewhere too if they are to be moved.
    std::function<VictimSearch::Fits(const GangAsk&)> fits;
    // Whether nobody's leaving helps, as counts prove.
    std::function<bool(const GangAsk&)> hopeless;
    // Above 0: of more than so many tasks only those are tried exactly whose nodes are least used
    // by such, and nothing is proven.
    std::size_t most_tried = 0;
  };
  ReliefSearch(Workbench& later, const VictimBook& book, std::int32_t budget)
      : later_(later), book_(book), budget_(budget) {}

  // `ask` is told in which domain, where it has to be in one; `steps` what was spent.
  VictimSearch::Answer Run(const Rules& rules, Reach& reach, GangAsk& ask, std::int32_t& steps);

 private:
  VictimSearch::Answer Search(const Rules& rules, Reach& reach, const GangAsk& ask,
                              std::int32_t& steps);
  VictimSearch::Answer Relax(const Rules& rules, Reach& reach, const GangAsk& ask);
  std::optional<Toll> LeastToll(Reach& reach, const GangAsk& ask);
  NodeTable& TableOf(Reach& reach, ClassId cls);
  std::vector<VictimRef> Helpful(const Reach& reach, const GangAsk& ask) const;
  std::vector<VictimRef> LeastUsed(const Reach& reach, std::vector<VictimRef> refs,
                                   std::size_t most) const;
  bool Complete(const Reach& reach, std::vector<VictimRef>& victims) const;
  const Snapshot& snapshot() const { return later_.ledger().snapshot(); }

  Workbench& later_;
  const VictimBook& book_;
  std::int32_t budget_;
};

}  // namespace tephra
