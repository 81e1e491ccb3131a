// Plan: the decisions of one cycle. Each is one gang's outcome, all or none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/memory.h"
#include "engine/reason.h"
#include "topology/base/boxed.h"
#include "topology/base/ids.h"
#include "topology/base/time.h"
#include "topology/device.h"

namespace tephra {

struct Placement {
  TaskId task;
  NodeId node;
  Slices slices;

  bool operator==(const Placement&) const = default;
};

enum class Verdict : std::uint8_t {
  kStart,
  kStartAfterEviction,
  kReserve,     // not now, but at a stated time
  kWait,        // retryable
  kInfeasible,  // not before the cluster changes
  kUnwind,      // evicts tasks of its own job, which are pending again afterwards
};

// Whether a job that is pending with this verdict and obstacle may start without a change of the job, its
// queue or the nodes: time and the ends of other jobs are enough.
constexpr bool WaitEnds(Verdict verdict, Obstacle obstacle) {
  const bool pending = verdict == Verdict::kWait || verdict == Verdict::kReserve ||
                       verdict == Verdict::kStartAfterEviction;
  return pending && (IsQuota(obstacle) || IsRoom(obstacle) || obstacle == Obstacle::kReserved ||
                     obstacle == Obstacle::kLimitReserved ||
                     obstacle == Obstacle::kBehind || obstacle == Obstacle::kReleasing ||
                     obstacle == Obstacle::kGate);
}

// Which part of a gang a decision is about.
enum class Part : std::uint8_t {
  kMinimum,  // what the gang needs to run at all
  kElastic,  // members beyond that
};

struct Decision {
  JobId job;
  Part part = Part::kMinimum;
  Verdict verdict = Verdict::kWait;
  Boxed<Reason> reason;
  std::vector<Placement> placements;
  std::vector<TaskId> evictions;  // kStartAfterEviction: of other jobs; kUnwind: of its own
  // The evicted tasks that go on elsewhere, and where; that room is reserved for them.
  std::vector<Placement> moves{};
  // kReserve: where it has room when it is to start (Reservation::where). Means nothing outside.
  std::vector<Placement> reserved{};
  std::int32_t reserved_tasks = 0;  // kReserve: how many start then
};

// Ids are those of the State that made it and mean nothing outside; sidecar/wire puts names to
// them. A gang whose facts did not change is not asked again and has no Decision; what was last
// said of it still stands (JobRow::standing).
struct Plan {
  std::uint64_t version = 0;  // of the Snapshot it was made from
  TimeMs now = 0;
  std::vector<Decision> decisions;
  std::vector<JobId> dropped;  // their decisions failed verification
  // To be kept for the engine that comes after this one, in the place of the last one.
  std::optional<Memory> memory = std::nullopt;
  // Not to be carried out: what a pass would decide if it were allowed to.
  std::vector<Decision> proposals{};
  // The answer to these is no, and so it is to all jobs of their lines that run at least as long as
  // `from` (WaitingLine::RunOf), which were not asked. With `every_queue` also to those of all due
  // lines of the shape.
  struct LineAnswer {
    JobId job;
    DurationMs from = 0;
    bool every_queue = false;
  };
  std::vector<LineAnswer> line_answers{};
  // Jobs of these shapes would delay a reservation, wherever they started. None of them was asked.
  std::vector<ShapeId> reserved_shapes{};
  // Jobs whose reserved start is the earliest as of this plan, in the order of their turns.
  std::vector<JobId> starts_confirmed{};
  // No victims are searched for these before that time, because they would lose too much work. Then
  // the jobs are asked again.
  std::vector<std::pair<JobId, TimeMs>> evictions_from{};
  // When time alone may change an answer; 0: never.
  TimeMs ask_again_at = 0;
};

}  // namespace tephra
