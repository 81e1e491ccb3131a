// EvictingLines: closes the lines that have neither room nor possible victims, if evictions are on. It
// reads the shape and the queue of a line, and evaluates no job.
//
// Part of one cycle; one owner thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
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
  // Whether a job of a shape may have room on a bench.
  struct Room {
    std::uint64_t seen = 0;  // of the log of nodes, when it was looked at
    bool may_fit = false;

    bool MayFit(Workbench& bench, const TaskNeed& need);
  };
  struct Shape {
    TaskNeed need;
    Resources least;  // of a job
    Room now, later;
  };

  Shape& ShapeOf(LineId line, JobId job);
  bool MayEvict(JobId job, Shape& shape);

  Cycle& cycle_;
  const StartReservations& reservations_;
  const std::uint64_t rooms_before_;  // Proofs::rooms_came, before the first turn
  std::vector<JobId> alone_;  // that are asked by themselves, by id
  std::unordered_map<ShapeId, Shape> shapes_;
  std::unordered_set<LineId> closed_;
  std::uint64_t rooms_came_ = 0;  // Proofs::rooms_came, when they were closed
};

}  // namespace tephra
