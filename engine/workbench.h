// Workbench: a Ledger and the rankings that follow it. It stands from cycle to cycle, so that a
// Tick costs what changed; all of it is derived, and dropping it changes no decision.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/ledger.h"
#include "engine/policy.h"
#include "engine/ranking.h"

namespace tephra {

class Workbench {
 public:
  explicit Workbench(Ledger::Basis basis) : ledger_(basis) {}

  void Begin(const Snapshot& snapshot, const Policies& policies) {
    ledger_.Begin(snapshot);
    rankings_.Begin(ledger_, policies);
  }
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  Rankings& rankings() { return rankings_; }
  const Policies& policies() const { return rankings_.policies(); }

 private:
  Ledger ledger_;
  Rankings rankings_;
};

}  // namespace tephra
