// ReservedRoom: the room that is reserved for a gang that is asked, now: where its victims still
// terminate, or where its tasks move. Whether the gang may start there, and whether it goes on
// waiting for it.
//
// Looks at the Snapshot and at ledgers; tries leave no trace. One owner thread.
#pragma once

#include <vector>

#include "engine/cycle.h"

namespace tephra {

class ReservedRoom {
 public:
  explicit ReservedRoom(Cycle& cycle) : cycle_(cycle), snapshot_(cycle.snapshot()) {}

  // All of it; empty if it is less than the gang lacks.
  std::vector<Placement> Of(const GangAsk& ask) const;
  // That of these tasks, as far as there is any.
  std::vector<Placement> OfTasks(const GangAsk& ask) const;
  // Whether each task of the ask has reserved room.
  bool ForAll(const GangAsk& ask) const;
  // Whether `room` is free on the bench but for the gang, and its queue may hold it.
  bool IsFree(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& room) const;

 private:
  bool Denied(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& room) const;

  Cycle& cycle_;
  const Snapshot& snapshot_;
};

}  // namespace tephra
