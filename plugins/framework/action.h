// Action: one pass over the cluster in a cycle. It asks policies, tries on the workbench's ledger
// and writes decisions into the plan; what it leaves charged must be what it decided.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "plugins/framework/plan.h"
#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"

namespace tephra {

// What was proven of a gang's shape, so that many alike are asked once. Derived: dropping it
// changes no decision.
class Proofs {
 public:
  // Roles as (class, least, tasks), then the gang's own minimum.
  using Shape = std::vector<std::uint32_t>;
  static Shape ShapeOf(const GangAsk& ask);

  // Forgets what the versions outdate.
  void Begin(const Snapshot& snapshot);

  // On the ledger of this cycle; the next would say no for another reason. REQUIRES of callers:
  // charges since the proof only added.
  std::map<Shape, Placer::Answer> now;
  // On the empty cluster.
  std::map<Shape, Placer::Answer> empty;

 private:
  std::uint64_t hardware_ = 0, config_ = 0, classes_ = 0;
};

struct Cycle {
  const Snapshot& snapshot;
  const Policies& policies;
  Workbench& now;    // what is free at the Snapshot's instant
  Workbench& empty;  // the same nodes with nothing on them
  Proofs& proofs;
  const std::vector<JobId>& due;  // jobs to ask, sorted by Order::Before
  Plan& plan;
};

class Action {
 public:
  virtual ~Action() = default;
  virtual std::string_view name() const = 0;
  virtual void Run(Cycle& cycle) const = 0;
};

}  // namespace tephra
