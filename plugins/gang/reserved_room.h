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

  // As much of it as the gang lacks; empty if there is less. That of a gang with groups has to be
  // just what it lacks, and that of a gang that moves is all of it.
  std::vector<Placement> Of(const GangAsk& ask) const;
  // Of these tasks that move, as far as there is any.
  std::vector<Placement> OfMoved(const GangAsk& ask) const;
  // Whether each task of the ask moves.
  bool AllMoved(const GangAsk& ask) const;
  // Whether `room` is free on the bench but for the gang, and its queue may hold it.
  bool IsFree(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& room) const;

 private:
  std::vector<Placement> OfAll(const GangAsk& ask) const;
  std::vector<Placement> HeldIn(const std::vector<RoleAsk>& roles) const;
  bool Denied(Workbench& bench, const GangAsk& ask) const;

  Cycle& cycle_;
  const Snapshot& snapshot_;
};

}  // namespace tephra
