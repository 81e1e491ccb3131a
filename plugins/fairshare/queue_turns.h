// QueueTurns: where queues with the same parent stand in the order of turns, by their fair shares, what
// they hold and what their next job asks for (fair_order.h).
//
// Part of one cycle; one owner thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/policy.h"

namespace tephra {

// The order of queues with one parent.
struct QueueTurn {
  bool above_share = false;  // with its next job
  std::int64_t minus_priority = 0;
  std::int64_t part = 0;            // of its share, now
  std::int64_t part_with_next = 0;  // and with its next job
  std::string_view name;
  std::uint32_t queue = 0;

  auto operator<=>(const QueueTurn&) const = default;
};

class QueueTurns {
 public:
  explicit QueueTurns(const Snapshot& snapshot)
      : snapshot_(snapshot), lines_(snapshot.books().lines) {}

  // Queues are compared by their shares from now on. Without it, by priority and name alone.
  void UseShares();
  // `next`: the next job of the queue. `reserved`: to its jobs that start later.
  QueueTurn Of(const Occupancy& occupancy, QueueId id, JobId next, const Resources& reserved);
  // LeastMissing of the job. It is the same for all jobs in lines of one shape.
  const Resources& LeastOf(JobId id);
  // Of the line that the job stands in; invalid: it stands in none, or there is no job.
  ShapeId ShapeOf(JobId id) const {
    const LineId line = id.valid() ? lines_.LineOf(id) : LineId();
    return line.valid() ? lines_.ShapeOf(line) : ShapeId();
  }

 private:
  const Snapshot& snapshot_;
  const WaitingLines& lines_;
  std::vector<Resources> shares_;                 // empty without UseShares
  std::unordered_map<ShapeId, Resources> least_;  // LeastOf
  Resources least_of_one_;                        // of a job in no line
};

}  // namespace tephra
