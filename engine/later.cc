#include "engine/later.h"

namespace tephra {

Later::~Later() {
  if (begun_) bench_.ledger().RollBackTo(0);
}

Workbench& Later::bench() {
  if (begun_) return bench_;
  begun_ = true;
  bench_.Begin(now_.ledger().snapshot(), now_.policies());
  for (const Decision& decision : plan_.decisions) charges_.Charge(decision);
  return bench_;
}

VictimSelection& Later::Begin(std::unique_ptr<VictimSelection>& selection,
                              const Eviction& eviction) {
  if (selection == nullptr) {
    selection = eviction.Begin(bench());
    for (const Decision& decision : plan_.decisions) Settle(*selection, decision);
  }
  return *selection;
}

VictimSelection& Later::selection() { return Begin(selection_, *now_.policies().eviction); }
VictimSelection& Later::relocation() { return Begin(relocation_, *now_.policies().relocation); }

const Ledger& Later::ledger() {
  const bool same = !begun_ && now_.ledger().snapshot().books().releasing.empty();
  return same ? now_.ledger() : bench().ledger();
}

void Later::Follow(const Decision& decision, bool charged) {
  if (charged) {
    charges_.Charged(decision);
  } else if (begun_) {
    charges_.Charge(decision);
  }
  if (selection_ != nullptr) Settle(*selection_, decision);
  if (relocation_ != nullptr) Settle(*relocation_, decision);
}

void Later::ForgetSelections() {
  selection_.reset();
  relocation_.reset();
}

// A job that is placed, or gives up what is left of it, is no victim any more.
void Later::Settle(VictimSelection& selection, const Decision& decision) const {
  if (!decision.placements.empty() || !decision.evictions.empty()) selection.Placed(decision.job);
  for (const TaskId task : decision.evictions) selection.Evicted(task);
}

}  // namespace tephra
