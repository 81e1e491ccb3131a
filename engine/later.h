// Later: what will be free when all that is on its way out has gone, and which tasks may be evicted
// or moved in addition. It is brought up to date only once a pass needs it.
//
// Owned by the Cycle; one owner thread.
#pragma once

#include <memory>

#include "engine/charged_plan.h"
#include "engine/workbench.h"

namespace tephra {

class Later {
 public:
  // `plan` holds the decisions so far, and outlives this.
  Later(Workbench& now, Workbench& bench, const Plan& plan)
      : now_(now), bench_(bench), plan_(plan), charges_(bench.ledger()) {}
  ~Later();

  bool begun() const { return begun_; }
  Workbench& bench();
  VictimSelection& selection();   // by evictions
  VictimSelection& relocation();  // by moves
  // The same as now while nothing is on its way out and no pass needed more.
  const Ledger& ledger();
  // The plan has this decision now. `charged`: it is on the bench's ledger already.
  void Follow(const Decision& decision, bool charged);
  // A decision that these answered was dropped: what they think of it is wrong.
  void ForgetSelections();

 private:
  void Settle(VictimSelection& selection, const Decision& decision) const;
  VictimSelection& Begin(std::unique_ptr<VictimSelection>& selection, const Eviction& eviction);

  Workbench& now_;
  Workbench& bench_;
  const Plan& plan_;
  ChargedPlan charges_;
  bool begun_ = false;
  std::unique_ptr<VictimSelection> selection_, relocation_;
};

}  // namespace tephra
