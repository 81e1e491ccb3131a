#include "engine/charged_plan.h"

namespace tephra {

void FreeReserved(Ledger& ledger, const TaskRow& task) {
  const Snapshot& snapshot = ledger.snapshot();
  if (!task.reserved_row.valid()) return;
  if (snapshot.hardware().present(snapshot.task(task.reserved_row).node))
    ledger.Free(task.reserved_row);
}

void FreeReserved(Ledger& ledger, const JobRow& job) {
  const Snapshot& snapshot = ledger.snapshot();
  for (const RoleRow& role : job.roles) {
    for (const TaskId task : role.tasks) FreeReserved(ledger, snapshot.task(task));
  }
}

bool ChargedPlan::Leaves(const Decision& decision) const {
  return decision.part == Part::kMinimum && ledger_.snapshot().job(decision.job).keeps_room();
}

void ChargedPlan::Charged(const Decision& decision) {
  if (Leaves(decision)) left_.insert(decision.job);
}

void ChargedPlan::Charge(const Decision& decision) {
  const Snapshot& snapshot = ledger_.snapshot();
  if (ledger_.basis() == Ledger::Basis::kLater) {
    for (const TaskId task : decision.evictions) {
      if (snapshot.hardware().present(snapshot.task(task).node)) ledger_.Free(task);
    }
  }
  const JobRow& job = snapshot.job(decision.job);
  if (Leaves(decision) && left_.insert(decision.job).second) FreeReserved(ledger_, job);
  for (const Placement& placement : decision.placements) {
    const TaskRow& task = snapshot.task(placement.task);
    if (!left_.contains(decision.job)) FreeReserved(ledger_, task);
    ledger_.Charge(task.cls, job.queue, placement);
  }
  for (const Placement& move : decision.moves) {
    const TaskRow& task = snapshot.task(move.task);
    ledger_.Charge(task.cls, snapshot.job(task.job).queue, move);
  }
}

}  // namespace tephra
