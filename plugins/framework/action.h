// Action: one pass over the cluster in a cycle. It asks policies, tries on the workbench's ledger
// and writes decisions into the plan; what it leaves charged must be what it decided.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "plugins/framework/plan.h"
#include "plugins/framework/policy.h"
#include "plugins/framework/priority.h"
#include "plugins/framework/workbench.h"

namespace tephra {

// What was proven of a gang's shape, so that many alike are asked once. Derived: dropping it
// changes no decision.
class Proofs {
 public:
  // Roles as (class, least, tasks), then the gang's own minimum, the models it is kept off, and
  // where it has to be.
  using Shape = std::vector<std::uint32_t>;
  static Shape ShapeOf(const GangAsk& ask);

  // Forgets what the versions outdate.
  void Begin(const Snapshot& snapshot);

  // On the ledger of this cycle; the next would say no for another reason. REQUIRES of callers:
  // charges since the proof only added; else RoomCame.
  std::map<Shape, Placer::Answer> now;
  // On the empty cluster.
  std::map<Shape, Placer::Answer> empty;
  // That no evictions help a gang of that queue and priority. In this cycle; the next would know of
  // others to evict. REQUIRES of callers: as for `now`, and who was evicted stays so.
  std::map<std::tuple<QueueId, Precedence, Shape>, Relief::Answer> relief;

  // A gang has left what was set aside for it.
  void RoomCame() {
    now.clear();
    relief.clear();
  }

 private:
  std::uint64_t hardware_ = 0, config_ = 0, classes_ = 0;
};

// What will be free when all that is on its way out has gone, and who else may be sent after it.
// It is brought up to date only once somebody asks.
class Later {
 public:
  Later(Workbench& now, Workbench& bench, const Plan& plan)
      : now_(now), bench_(bench), plan_(plan) {}
  ~Later();

  bool begun() const { return begun_; }
  Workbench& bench();
  Relief& relief();
  // The same as now while nothing is on its way out and nobody asked for more.
  const Ledger& ledger();
  // After a decision was added to the plan that is not charged on the bench.
  void Follow(const Decision& decision);

 private:
  void Charge(const Decision& decision);
  bool StartsWhole(JobId job) const;
  void Settle(const Decision& decision);

  Workbench& now_;
  Workbench& bench_;
  const Plan& plan_;
  bool begun_ = false;
  std::unique_ptr<Relief> relief_;
};

// Takes the room that is kept for a task that moves off the ledger.
void FreeBerth(Ledger& ledger, TaskId berth);

// Takes the room that is set aside for the job, and its tasks that move, off the ledger.
void FreeHolds(Ledger& ledger, const JobRow& job);

struct Cycle {
  const Snapshot& snapshot;
  const Policies& policies;
  Workbench& now;    // what is free at the Snapshot's instant
  Workbench& empty;  // the same nodes with nothing on them
  Later& later;
  Proofs& proofs;
  const std::vector<JobId>& due;  // jobs to ask, sorted by Order::Before
  Plan& plan;
  // Those that wait and are not asked, with promises that stand, by whose turn it is.
  const std::vector<JobId>& standing;
  Agenda* agenda = nullptr;  // null: nobody is promised anything
};

class Action {
 public:
  virtual ~Action() = default;
  virtual std::string_view name() const = 0;
  virtual void Run(Cycle& cycle) const = 0;
};

}  // namespace tephra
