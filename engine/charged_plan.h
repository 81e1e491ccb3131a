// ChargedPlan: the decisions of one plan on one ledger, in their order. What a decision frees and
// takes on a ledger is said here and nowhere else.
//
// One owner thread.
#pragma once

#include <set>

#include "engine/ledger.h"

namespace tephra {

// Takes the reserved room of the job's tasks off the ledger.
void FreeReserved(Ledger& ledger, const JobRow& job);
// The same for one task, if it has reserved room.
void FreeReserved(Ledger& ledger, const TaskRow& task);

class ChargedPlan {
 public:
  explicit ChargedPlan(Ledger& ledger) : ledger_(ledger) {}

  // Charges the decision: the room that it leaves is free, its placements and moves are taken. On a
  // ledger without what is on its way out (Ledger::Basis::kLater) its victims are gone, too.
  void Charge(const Decision& decision);
  // The decision is on the ledger already.
  void Charged(const Decision& decision);

 private:
  bool Leaves(const Decision& decision) const;

  Ledger& ledger_;
  std::set<JobId> left_;  // jobs that left all that was reserved for them
};

}  // namespace tephra
