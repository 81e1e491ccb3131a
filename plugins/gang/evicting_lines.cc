#include "plugins/gang/evicting_lines.h"

#include <algorithm>
#include <utility>

#include "engine/gang_ask.h"

namespace tephra {

EvictingLines::EvictingLines(Cycle& cycle, const StartReservations& reservations)
    : cycle_(cycle), reservations_(reservations), rooms_before_(cycle.proofs().rooms_came) {
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
  // The answer to a job that had its turn with victims is for it alone.
  if (snapshot.job(job).made_room_at == snapshot.books().news) return false;
  const LineId line = snapshot.books().lines.LineOf(job);
  if (!line.valid() || std::binary_search(alone_.begin(), alone_.end(), job)) return false;
  if (std::exchange(rooms_came_, cycle_.proofs().rooms_came) != cycle_.proofs().rooms_came) {
    closed_.clear();
  }
  if (closed_.contains(line)) return true;
  Shape& shape = ShapeOf(line, job);
  const bool is_due = std::binary_search(due.lines.begin(), due.lines.end(), line);
  const bool may_have_room = is_due || cycle_.proofs().rooms_came != rooms_before_;
  if (may_have_room && shape.now.MayFit(cycle_.now(), shape.need)) return false;
  const bool reserve = is_due || due.others;
  if (reserve && reservations_.MayGet(job)) return false;
  if ((is_due || snapshot.books().lines.MayBeReserved(line)) && MayEvict(job, shape)) return false;
  closed_.insert(line);
  cycle_.line().Close(line, 0);
  return true;
}

EvictingLines::Shape& EvictingLines::ShapeOf(LineId line, JobId job) {
  const WaitingLines& lines = cycle_.snapshot().books().lines;
  const ShapeId id = lines.ShapeOf(line);
  const auto [known, fresh] = shapes_.try_emplace(id);
  Shape& shape = known->second;
  if (fresh) {
    shape.need = lines.NeedOf(id);
    shape.least = LeastMissing(cycle_.snapshot(), cycle_.snapshot().job(job));
  }
  return shape;
}

bool EvictingLines::MayEvict(JobId job, Shape& shape) {
  const Snapshot& snapshot = cycle_.snapshot();
  if (!snapshot.job(job).may_evict()) return false;
  const bool leaving = !snapshot.books().releasing.empty() || cycle_.evicts_any();
  return (leaving && shape.later.MayFit(cycle_.later().bench(), shape.need)) ||
         cycle_.later().selection().MayHelp(job, shape.least);
}

bool EvictingLines::Room::MayFit(Workbench& bench, const TaskNeed& need) {
  const std::uint64_t end = bench.ledger().occupancy().node_log().end() + 1;
  if (std::exchange(seen, end) == end) return may_fit;
  std::int64_t room = 0;
  bench.free_nodes().EachWithRoom(need, [&](NodeId node) {
    room += need.CopiesIn(bench.ledger().occupancy().node(node).free, need.tasks);
    return room < need.tasks;
  });
  return may_fit = room >= need.tasks;
}

}  // namespace tephra
