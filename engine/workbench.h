// Workbench: a Ledger, and the rankings and lists of nodes that follow it. It stands from cycle to cycle, so that a
// Tick costs what changed; all of it is derived, and dropping it changes no decision.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/free_nodes.h"
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
  // Current as of the ledger's last charge.
  const FreeNodes& free_nodes() {
    free_nodes_.Follow(ledger_);
    return free_nodes_;
  }
  const Policies& policies() const { return rankings_.policies(); }

 private:
  Ledger ledger_;
  Rankings rankings_;
  FreeNodes free_nodes_;
};

}  // namespace tephra
