// Reservation: the reserved room of one job, now or from a later time on. A job has at most
// one, and it outlives the cycle. TaskTable charges and frees what it takes (task_reservations.cc).
//
// The rules of reserved room, for every policy:
// - Room reserved now (kVictims, kMove) is charged like the room of a running task. No other
//   job may take it, and no job is evicted for it. Its own job may leave it for a better place.
// - A reserved start (kStart) takes nothing before its time. Other jobs may use the room as long as
//   the start is not delayed (ReservationPlan::Delays).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/plan.h"
#include "topology/base/time.h"

namespace tephra {

struct Reservation {
  enum class Kind : std::uint8_t {
    kNone,
    kVictims,  // the job starts where its victims still terminate
    kMove,     // tasks of the job were evicted and go on elsewhere
    kStart,    // the job starts at a later time
  };
  Kind kind = Kind::kNone;
  std::int32_t rows = 0;   // kVictims, kMove: tasks with reserved room (TaskRow::reserved_row)
  TimeMs at = 0;           // kStart: when
  std::int32_t tasks = 0;  // kStart: how many of its tasks start then
  // kStart: where the job has room then, beside all other reservations; empty if counts alone prove
  // that it has.
  std::vector<Placement> where{};
  // kStart: Books::surprises when this was the earliest start for a job that runs so long.
  std::uint64_t as_of = 0;
  std::uint64_t held_as_of = 0;  // kStart: Books::losses when the job had that place
  DurationMs run = 0;
  std::uint64_t turn = 0;  // kStart: a job with a smaller number was planned before this job

  static Reservation Start(TimeMs at, std::int32_t tasks, std::vector<Placement> where) {
    return {Kind::kStart, 0, at, tasks, std::move(where)};
  }
  bool keeps_room() const { return rows > 0; }
  bool operator==(const Reservation&) const = default;
};

}  // namespace tephra
