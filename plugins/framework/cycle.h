// RunCycle: the one gate through which every action passes. It brings the workbenches up to date,
// orders the jobs, runs each action that is not disabled, lets observers time it, and verifies
// what it decided.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/framework/action.h"
#include "plugins/framework/verify.h"

namespace tephra {

// Told about passes by name; the binaries time and count with it. No clock in here.
class CycleObserver {
 public:
  virtual ~CycleObserver() = default;
  virtual void PassBegins(std::string_view action) = 0;
  virtual void PassEnds(std::string_view action) = 0;
  virtual void DecisionDropped(const Snapshot&, const Decision&, const std::string& why) = 0;
};

// What stands between cycles. All of it is derived from the facts.
struct CycleTools {
  Workbench now{Ledger::Basis::kNow};
  Workbench empty{Ledger::Basis::kEmpty};
  Workbench later{Ledger::Basis::kLater};
  Workbench ahead{Ledger::Basis::kNow};  // where the agenda tries what is to come
  Proofs proofs;
  Verifier verifier;

  // Another score rates from now on. What is charged stays as it is.
  void ForgetRatings() {
    for (Workbench* bench : {&now, &empty, &later, &ahead}) bench->rankings().Forget();
    proofs = Proofs();
  }
};

Plan RunCycle(const Snapshot& snapshot, const Policies& policies,
              const std::vector<std::unique_ptr<Action>>& actions, std::vector<JobId> due,
              CycleTools& tools, CycleObserver* observer);

}  // namespace tephra
