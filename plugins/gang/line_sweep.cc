#include "plugins/gang/line_sweep.h"

#include <algorithm>

namespace tephra {
namespace {

constexpr std::size_t kFewShapes = 8;    // so few are asked one by one
constexpr std::int32_t kMostNodes = 256;  // that are looked at for one shape

}  // namespace

LineSweep::LineSweep(Cycle& cycle, const StartReservations& reservations)
    : cycle_(cycle), reservations_(reservations), applies_(Applies()) {
  if (!applies_) return;
  const WaitingLines& lines = cycle.snapshot().books().lines;
  std::vector<bool> known(lines.shapes());
  for (const LineId line : cycle.due().lines) {
    const ShapeId shape = lines.ShapeOf(line);
    if (!known[shape.index()]) due_.push_back({shape});
    known[shape.index()] = true;
  }
}

bool LineSweep::Applies() const {
  const Snapshot& snapshot = cycle_.snapshot();
  const Eviction* const eviction = cycle_.policies().eviction.get();
  const bool moves = snapshot.books().movable_jobs > 0 &&
                     snapshot.config().moves.mode != MoveSettings::Mode::kOff;
  return cycle_.due().lines.size() > kFewShapes && !moves &&
         (eviction == nullptr || !eviction->Enabled(snapshot.config()));
}

void LineSweep::Run() {
  if (!applies_ || !fresh_ || due_.size() <= kFewShapes || !reservations_.AllGiven()) return;
  fresh_ = false;
  std::erase_if(due_, [&](Due& due) { return !Look(due); });
}

// Whether a job of the shape may start.
bool LineSweep::Look(Due& due) {
  const WaitingLines& lines = cycle_.snapshot().books().lines;
  const TaskNeed& need = lines.NeedOf(due.shape);
  const Ledger& ledger = cycle_.now().ledger();
  ReservationPlan* const plan = cycle_.reservation_plan();
  std::int64_t room = 0;       // tasks
  std::int64_t undelayed = 0;  // of these, as far as they delay no reservation, however long they run
  DurationMs most_run = 0;     // of the other ones
  std::int32_t looks = 0;
  const bool looked_at_all = cycle_.now().free_nodes().EachWithRoom(need, [&](NodeId node) {
    if (++looks > kMostNodes) return false;
    const std::int64_t copies = need.CopiesIn(ledger.occupancy().node(node).free, need.tasks);
    if (copies == 0) return true;
    room += copies;
    const DurationMs run = plan == nullptr ? WaitingLine::kAnyRun : plan->MostRun(need, node);
    if (run == WaitingLine::kAnyRun) {
      undelayed += copies;
    } else {
      most_run = std::max(most_run, run);
    }
    return undelayed < need.tasks;
  });
  if (!looked_at_all) return true;
  const bool reserved = room >= need.tasks;
  const DurationMs from = reserved ? most_run + 1 : 0;
  if (from < due.open_below) cycle_.CloseShape(due.shape, from, reserved);
  due.open_below = std::min(due.open_below, from);
  return lines.ShortestRun(due.shape) < due.open_below;
}

}  // namespace tephra
