#include "plugins/gang/evicting_lines.h"

#include <algorithm>

#include "engine/gang_ask.h"

namespace tephra {

EvictingLines::EvictingLines(Cycle& cycle, const StartReservations& reservations)
    : cycle_(cycle), reservations_(reservations) {
  if (!cycle.due().evicts) return;
  alone_ = cycle.due().jobs;
  std::sort(alone_.begin(), alone_.end());
}

bool EvictingLines::Closes(JobId job) {
  const Due& due = cycle_.due();
  if (!due.evicts) return false;
  const Snapshot& snapshot = cycle_.snapshot();
  // A job of a FIFO queue may have its turn because the one before it started.
  if (snapshot.queues().InOrder(snapshot.job(job).queue)) return false;
  const LineId line = snapshot.books().lines.LineOf(job);
  if (!line.valid() || std::binary_search(due.lines.begin(), due.lines.end(), line)) return false;
  if (std::binary_search(alone_.begin(), alone_.end(), job)) return false;
  const bool ever = snapshot.books().lines.MayBeReserved(line);
  if (ever && ((due.others && reservations_.MayGet(job)) || MayEvict(job, line))) return false;
  cycle_.line().Close(line, 0);
  return true;
}

bool EvictingLines::MayEvict(JobId job, LineId line) {
  const Snapshot& snapshot = cycle_.snapshot();
  if (!snapshot.job(job).evicts) return false;
  const ShapeId id = snapshot.books().lines.ShapeOf(line);
  const auto [known, fresh] = shapes_.try_emplace(id);
  if (fresh) known->second.least = LeastMissing(snapshot, snapshot.job(job));
  return MayHaveRoomLater(known->second, id) ||
         cycle_.later().selection().MayHelp(job, known->second.least);
}

// Upper bound, where anything is on its way out.
bool EvictingLines::MayHaveRoomLater(Shape& shape, ShapeId id) {
  const Snapshot& snapshot = cycle_.snapshot();
  if (snapshot.books().releasing.empty() && !cycle_.evicts_any()) return false;
  Workbench& later = cycle_.later().bench();
  const std::uint64_t end = later.ledger().occupancy().node_log().end() + 1;
  if (shape.seen == end) return shape.may_have_room;
  shape.seen = end;
  const TaskNeed& need = snapshot.books().lines.NeedOf(id);
  std::int64_t room = 0;
  later.free_nodes().EachWithRoom(need, [&](NodeId node) {
    room += need.CopiesIn(later.ledger().occupancy().node(node).free, need.tasks);
    return room < need.tasks;
  });
  shape.may_have_room = room >= need.tasks;
  return shape.may_have_room;
}

}  // namespace tephra
