// Cycle: the plan of one cycle in the making, and the one way to decide.
//
// A pass asks policies, tries on the workbenches, and commits what it decides. Commit verifies the
// decision, charges it on every ledger that does not have it yet, adds it to the plan and notifies
// all that follow the plan: what will be free later, the reservation plan, the order of turns, and the
// proofs. A decision that does not verify is dropped before anything of it is charged or known.
//
// One owner thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/charged_plan.h"
#include "engine/later.h"
#include "engine/plan.h"
#include "engine/policy.h"
#include "engine/proofs.h"
#include "engine/verify.h"
#include "engine/workbench.h"

namespace tephra {

// Hears about passes by name; the binaries time and count with it. No clock in here.
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
  Workbench ahead{Ledger::Basis::kNow};  // where the reservation plan tries what is to come
  std::unique_ptr<ReservationMemory> reservations;
  Proofs proofs;
  Verifier verifier;

  // Another score rates from now on. What is charged stays as it is.
  void ForgetRatings() {
    for (Workbench* bench : {&now, &empty, &later, &ahead}) bench->rankings().ForgetRatings();
    proofs = Proofs();
  }
};

class Cycle {
 public:
  // `due`: in any order. All references outlive the cycle; `observer` may be null.
  Cycle(const Snapshot& snapshot, const Policies& policies, Due due,
        CycleTools& tools, CycleObserver* observer);
  Cycle(const Cycle&) = delete;
  Cycle& operator=(const Cycle&) = delete;

  const Snapshot& snapshot() const { return snapshot_; }
  const Policies& policies() const { return policies_; }
  Workbench& now() { return tools_.now; }      // what is free at the Snapshot's instant
  Workbench& empty() { return tools_.empty; }  // the same nodes with nothing on them
  Later& later() { return later_; }
  Proofs& proofs() { return tools_.proofs; }
  // What to ask; the jobs sorted by Order::Before.
  const Due& due() const { return due_; }
  // Pending jobs that are not asked and have a reservation that stands, sorted by Order::Before.
  const std::vector<JobId>& standing() const { return standing_; }
  ReservationPlan* reservation_plan() { return reservation_plan_.get(); }  // null: nothing is reserved
  // The turns of the jobs that are due; it begins with the first call.
  Line& line();

  const Plan& plan() const { return plan_; }
  // Whether the plan evicts tasks of the job for another one.
  bool evicts(JobId job) const { return evicted_.contains(job); }
  bool evicts_any() const { return !evicted_.empty(); }
  // Whether the plan starts tasks of the job, or reserves room for them.
  bool takes(JobId job) const { return taken_.contains(job); }

  // Decides. `tried`: the attempt on now() or on later().bench() in which the decision was charged;
  // it is kept. Null: nothing is charged yet. More elastic members of the job that was decided last
  // join that decision. False: the decision was dropped, and the attempt is the caller's to undo.
  bool Commit(Decision decision, Attempt* tried = nullptr);
  // Decides in place of the decision at `index`, which starts, evicts and leaves nothing.
  bool Replace(std::size_t index, Decision decision, Attempt* tried = nullptr);
  // Reserves places for tasks of one job that the decision at `index` evicts, so that they run there next.
  // `tried`: the attempt on later().bench() in which the places were charged. False: nothing was reserved.
  bool GoOnElsewhere(std::size_t index, const std::vector<Placement>& places, Attempt& tried);
  // Not to be carried out: what a pass would decide if it were allowed to.
  void Propose(Decision decision) { plan_.proposals.push_back(std::move(decision)); }
  // The answer to the job is no, as to all of its line that run at least as long as `from`; with
  // `every_queue` also to those of all due lines of its shape.
  void CloseLine(JobId job, DurationMs from, bool every_queue);
  // No job of the shape can start that runs at least as long as `from`: for lack of room, or, if
  // `reserved`, because it would delay a reservation. None of them is asked.
  void CloseShape(ShapeId shape, DurationMs from, bool reserved);
  // No victims are searched for the job before that time.
  void HoldEvictions(JobId job, TimeMs until) { plan_.evictions_from.emplace_back(job, until); }
  // Time alone may change the answer at this time.
  void AskAgain(TimeMs at);

  // The plan. Nothing may be committed afterwards.
  Plan Finish();

 private:
  bool Verified(const Decision& decision);
  void Follow(const Decision& decision, const Attempt* tried);

  const Snapshot& snapshot_;
  const Policies& policies_;
  CycleTools& tools_;
  CycleObserver* observer_;
  Due due_;
  std::vector<JobId> standing_;
  Plan plan_;
  ChargedPlan now_charges_;
  Later later_;
  std::unique_ptr<ReservationPlan> reservation_plan_;
  std::unique_ptr<Line> line_;
  std::set<JobId> evicted_, taken_;
  std::set<std::size_t> replaced_;  // indexes of decisions that another one answers
};

}  // namespace tephra
