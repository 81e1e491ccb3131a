// Ledger: where a cycle tries things. A standing copy of the Snapshot's occupancy, brought up to
// date at the cost of what changed, on which placements are charged and exactly undone.
//
// One owner thread; decision code has no other threads.
#pragma once

#include <vector>

#include "engine/occupancy.h"
#include "engine/plan.h"
#include "engine/snapshot.h"

namespace tephra {

class Ledger {
 public:
  enum class Basis {
    kNow,    // what is free at the Snapshot's instant
    kEmpty,  // the same nodes with nothing on them: could it ever fit?
    kLater,  // as now, without what is on its way out
  };
  explicit Ledger(Basis basis) : basis_(basis) {}

  // REQUIRES: nothing is tried at the moment. The Snapshot must outlive the cycle.
  void Begin(const Snapshot& snapshot);

  // REQUIRES: the node is present.
  void Charge(ClassId cls, QueueId queue, const Placement& placement);
  // Takes the task off its node, as if it were gone. REQUIRES: it is charged.
  void Free(TaskId task);
  // Takes off what Charge charged. REQUIRES: as for Charge.
  void Discharge(ClassId cls, QueueId queue, const Placement& placement);
  // Undone later than all that came after it. REQUIRES: mark() was once this large.
  void RollBackTo(std::size_t mark);
  std::size_t mark() const { return log_.size(); }
  // Takes off one placement that was kept.
  void Uncharge(ClassId cls, QueueId queue, const Placement& placement);
  // What was charged since the mark, in order; also what was freed again after it was charged.
  std::vector<Placement> Since(std::size_t mark) const;
  // The tasks that were freed since the mark and are not charged again, by id.
  std::vector<TaskId> FreedSince(std::size_t mark) const;
  // From here on what is charged stays (until the next Begin finds the truth without it).
  void Settle() { log_.clear(); }

  Basis basis() const { return basis_; }
  const Snapshot& snapshot() const { return *snapshot_; }
  const Occupancy& occupancy() const { return occupancy_; }
  Facts facts() const { return snapshot_->facts(); }
  NodeView View(NodeId node) const { return occupancy_.View(snapshot_->hardware(), node); }

 private:
  void Apply(ClassId cls, QueueId queue, const Placement& placement, int sign);
  bool IsProtected(TaskId task) const;

  struct Entry {
    ClassId cls;
    QueueId queue;
    Placement placement;
    int sign = +1;
  };

  Basis basis_;
  const Snapshot* snapshot_ = nullptr;
  Occupancy occupancy_;
  std::vector<std::uint32_t> spec_seen_;  // kEmpty: the description each row was made from
  std::uint64_t hardware_seen_ = 0;
  std::vector<Entry> log_;
};

// A try that leaves no trace unless it is kept.
class Attempt {
 public:
  explicit Attempt(Ledger& ledger) : ledger_(ledger), mark_(ledger.mark()) {}
  ~Attempt() {
    if (!kept_) ledger_.RollBackTo(mark_);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // What it charges stays charged.
  void Keep() { kept_ = true; }
  // What was charged so far, in order.
  std::vector<Placement> placements() const { return ledger_.Since(mark_); }
  const Ledger& ledger() const { return ledger_; }

 private:
  Ledger& ledger_;
  std::size_t mark_;
  bool kept_ = false;
};

}  // namespace tephra
