// EvictingLines: of the lines that have a turn only because tasks might be evicted for their jobs, which
// have none to evict. They are closed at the cost of a look at their queue.
//
// Part of one cycle; one owner thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/cycle.h"
#include "plugins/gang/start_reservations.h"

namespace tephra {

class EvictingLines {
 public:
  // The arguments outlive it.
  EvictingLines(Cycle& cycle, const StartReservations& reservations);

  // Closes the line of the job, which has its turn, if asking it would change nothing.
  bool Closes(JobId job);

 private:
  struct Shape {
    Resources least;             // of a job
    std::uint64_t seen = 0;      // of the later ledger's log of nodes, when
    bool may_have_room = false;  // once all has gone that is on its way out
  };

  bool MayEvict(JobId job, LineId line);
  bool MayHaveRoomLater(Shape& shape, ShapeId id);

  Cycle& cycle_;
  const StartReservations& reservations_;
  std::vector<JobId> alone_;  // that are asked by themselves, by id
  std::unordered_map<ShapeId, Shape> shapes_;
};

}  // namespace tephra
