// LineSweep: closes the due lines of which no job can start now, by a look at the few nodes that have
// something free. Asking a job of each line would give the same answers at a hundred times the cost.
//
// A line stays open if the look proves nothing: the free amounts of nodes are no proof that a task fits.
// Part of one cycle; one owner thread.
#pragma once

#include <vector>

#include "engine/cycle.h"
#include "plugins/gang/start_reservations.h"

namespace tephra {

class LineSweep {
 public:
  LineSweep(Cycle& cycle, const StartReservations& reservations);

  // Room may have become less since the last call. Does nothing while jobs may get a reservation, and
  // where jobs may be evicted or moved for a line.
  void Run();
  // A job started, so the next Run looks again.
  void Started() { fresh_ = true; }

 private:
  struct Due {
    ShapeId shape;
    DurationMs open_below = WaitingLine::kAnyRun;
  };

  bool Applies() const;
  bool Look(Due& due);

  Cycle& cycle_;
  const StartReservations& reservations_;
  bool fresh_ = true;
  bool applies_ = false;
  std::vector<Due> due_;  // shapes that may have a job without an answer
};

}  // namespace tephra
