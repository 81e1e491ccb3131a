// Ahead: a workbench that shows what is free at a time to come, as what runs is expected to end.
// Between calls it may stand at any time; what a caller tries on it, the caller undoes.
#pragma once

#include <map>
#include <vector>

#include "engine/charged_plan.h"
#include "engine/workbench.h"
#include "plugins/backfill/room_ahead.h"

namespace tephra {

class Ahead {
 public:
  // The bench has begun, its ledger being that of now.
  explicit Ahead(Workbench& bench);
  ~Ahead() { bench_.ledger().RollBackTo(0); }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // Moves the bench to that time: what is expected to have ended has gone. What is on its way out
  // goes right after now. REQUIRES: nothing is tried on it.
  Workbench& At(TimeMs time);
  // All times before `before` at which something is expected to go, rising.
  std::vector<TimeMs> Ends(TimeMs before);
  // What is free now, with what is expected to go.
  RoomAhead Room();
  // From now on the plan's starts and evictions count. A start that waits for what goes counts as
  // of now. REQUIRES: nothing is tried on the bench.
  void Follow(const Decision& decision);

 private:
  struct End {
    TimeMs at;
    TaskId task;
    auto operator<=>(const End&) const = default;
  };

  void List();
  void Rewind();
  Placement PlaceOf(TaskId id) const;

  Workbench& bench_;
  const Snapshot& snapshot_;
  ChargedPlan charges_;
  std::size_t base_;  // of the ledger's log: where it stands at now
  bool listed_ = false;
  std::vector<End> ends_;           // rising
  std::map<TaskId, Placement> planned_;  // where the plan starts tasks; the rest run where they are
  std::vector<std::size_t> marks_;  // of those passed: the log before each went
};

}  // namespace tephra
