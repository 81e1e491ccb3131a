#include "plugins/gang/limit_turns.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "engine/gang_ask.h"
#include "engine/holdings.h"
#include "engine/missing.h"
#include "plugins/gang/shortage.h"

namespace tephra {
namespace {

// Of the kinds that are limited and that it needs, the first one of which it does not fit; kMaxKinds: none.
Kind Short(const QueueSpec& queue, const Resources& used, const Resources& least) {
  for (KindSet kinds = queue.limited_kinds; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    if (least[k] > 0 && used[k] + least[k] > queue.limit[k]) return k;
  }
  return kMaxKinds;
}

// When the tasks that hold something are expected to be gone, in this order.
struct End {
  TimeMs at;
  TaskId task;
  Resources holds;
};

}  // namespace

void LimitTurns::Begin(QueueId queue) {
  if (!queue.valid() || !snapshot_.queues().limited(queue)) return;
  const std::size_t mark = cycle_.now().ledger().mark();
  const auto [known, fresh] = known_.try_emplace(queue);
  if (!fresh && known->second.mark == mark) return;
  known->second = {mark, TurnIn(queue)};
}

std::optional<LimitTurns::Late> LimitTurns::Delays(JobId id, const Resources& taken) const {
  const JobRow& job = snapshot_.job(id);
  // A gang that runs in part is in the middle of its turn.
  if (job.counted() > 0 && !job.satisfied()) return std::nullopt;
  const auto known = known_.find(job.queue);
  if (known == known_.end() || !known->second.turn || known->second.turn->job == id) return std::nullopt;
  const Turn& turn = *known->second.turn;
  const DurationMs run = job.estimated_runtime_ms;
  if (run > 0 && snapshot_.now() + run <= turn.at) return std::nullopt;
  const QueueSpec& level = snapshot_.queues().spec(turn.level);
  for (KindSet kinds = level.limited_kinds; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    if (turn.least[k] > 0 && taken[k] > turn.spare[k]) return Late{turn.job, turn.level, turn.at};
  }
  return std::nullopt;
}

// The gang that comes first in the queue, if a limit alone stops it and the time at which it does not is known.
std::optional<LimitTurns::Turn> LimitTurns::TurnIn(QueueId queue) {
  const JobId first = FirstIn(queue);
  if (!first.valid()) return std::nullopt;
  Turn turn{first, LeastMissing(snapshot_, snapshot_.job(first)), QueueId(), 0, {}};
  turn.level = StoppedAt(queue, turn.least);
  if (!turn.level.valid() || !FindTime(turn)) return std::nullopt;
  return turn;
}

// The first job of the queue that the cycle does not start.
JobId LimitTurns::FirstIn(QueueId queue) {
  const Books& books = snapshot_.books();
  if (books.lines.on()) {
    const LinePlace* first = nullptr;
    for (const WaitingLines::InTurn& one : books.lines.Of(queue)) {
      if (first != nullptr && *first < *one.first) break;
      const WaitingLine& line = books.lines.line(one.line);
      const LinePlace* place = one.first;
      while (place != nullptr && HadItsTurn(place->job)) place = line.After(*place);
      // The rest of the line asks the same, so one of it is enough.
      if (place != nullptr && MayCome(place->job) && (first == nullptr || *place < *first)) first = place;
    }
    return first == nullptr ? JobId() : first->job;
  }
  if (!in_turn_) {
    in_turn_.emplace();
    for (const JobId id : books.waiting) {
      const JobRow& job = snapshot_.job(id);
      if (job.queue.valid() && job.counted() == 0 && !job.keeps_room()) (*in_turn_)[job.queue].push_back(id);
    }
    for (auto& [of, jobs] : *in_turn_) {
      std::sort(jobs.begin(), jobs.end(),
                [&](JobId a, JobId b) { return cycle_.policies().order->Before(snapshot_, a, b); });
    }
  }
  const std::vector<JobId>& jobs = (*in_turn_)[queue];
  const auto first = std::find_if(jobs.begin(), jobs.end(), [&](JobId id) { return !HadItsTurn(id) && MayCome(id); });
  return first == jobs.end() ? JobId() : *first;
}

// It starts in this cycle, or is not asked any more.
bool LimitTurns::HadItsTurn(JobId id) const { return snapshot_.job(id).quarantined || cycle_.takes(id); }

// Whether more of the limit is all that the gang may wait for.
bool LimitTurns::MayCome(JobId id) {
  const JobRow& job = snapshot_.job(id);
  if (cycle_.policies().admission != nullptr && !job.admitted()) return false;
  const GangAsk ask = MissingMinimum(snapshot_, id);
  if (MissingMembers(snapshot_, ask)) return false;
  const Resources least = LeastMissing(snapshot_, job);
  const auto denied = cycle_.policies().entitlement->Deny(cycle_.now().ledger(), id, least, Resources{});
  if (denied && denied->obstacle != Obstacle::kQueueLimit) return false;
  for (QueueId up = job.queue; up.valid(); up = snapshot_.queues().parent(up)) {
    if (snapshot_.queues().present(up) && Short(snapshot_.queues().spec(up), {}, least) != kMaxKinds) return false;
  }
  return PlaceInEmpty(cycle_, Apart(ask)).outcome != Placer::Outcome::kImpossible;
}

QueueId LimitTurns::StoppedAt(QueueId queue, const Resources& least) const {
  const QueueTree& queues = snapshot_.queues();
  const Resources& cluster = cycle_.empty().ledger().occupancy().free_total();
  for (QueueId up = queue; up.valid(); up = queues.parent(up)) {
    if (!queues.present(up)) continue;
    const Resources& used = cycle_.now().ledger().occupancy().queue_total(up);
    const Kind binding = Short(queues.spec(up), used, least);
    if (binding != kMaxKinds && queues.spec(up).limit[binding] < cluster[binding]) return up;
  }
  return QueueId();
}

// False: it does not fit even when all has ended whose end is known.
bool LimitTurns::FindTime(Turn& turn) const {
  const QueueTree& queues = snapshot_.queues();
  const QueueSpec& level = queues.spec(turn.level);
  Resources used = cycle_.now().ledger().occupancy().queue_total(turn.level);
  const TimeMs soon = snapshot_.now() + 1;
  const auto holds = [&](ClassId cls, NodeId node, const Slices& slices) {
    return HoldingsOf(snapshot_.hardware(), snapshot_.cls(cls), node, slices);
  };
  // What ends beside the running tasks: tasks on their way out, and tasks that the cycle starts.
  std::vector<End> others;
  std::set<TaskId> leave;
  const auto leaves = [&](TaskId id) {
    const TaskRow& task = snapshot_.task(id);
    if (!task.job.valid() || !snapshot_.hardware().present(task.node)) return;
    if (!queues.Under(snapshot_.job(task.job).queue, turn.level)) return;
    leave.insert(id);
    others.push_back({soon, id, holds(task.cls, task.node, task.slices)});
  };
  for (const TaskId id : snapshot_.books().releasing) leaves(id);
  for (const Decision& decision : cycle_.plan().decisions) {
    for (const TaskId id : decision.evictions) leaves(id);
    const JobRow& job = snapshot_.job(decision.job);
    if (decision.verdict != Verdict::kStart || job.estimated_runtime_ms <= 0) continue;
    if (!queues.Under(job.queue, turn.level)) continue;
    for (const Placement& one : decision.placements) {
      others.push_back({snapshot_.now() + job.estimated_runtime_ms, one.task,
                        holds(snapshot_.task(one.task).cls, one.node, one.slices)});
    }
  }
  std::sort(others.begin(), others.end(),
            [](const End& a, const End& b) { return std::pair(a.at, a.task) < std::pair(b.at, b.task); });
  auto other = others.begin();
  auto running = snapshot_.books().timeline.ends().begin();
  const auto last = snapshot_.books().timeline.ends().end();
  bool fits = false;
  while (other != others.end() || running != last) {
    const bool is_running = other == others.end() || (running != last && running->first < other->at);
    const TimeMs at = std::max(is_running ? running->first : other->at, soon);
    if (fits && at > turn.at) break;
    turn.at = at;
    if (!is_running) {
      used.Add(other->holds, -1);
      ++other;
    } else {
      const TaskRow& task = snapshot_.task(running->second);
      const bool counts = task.job.valid() && !leave.contains(running->second) &&
                          snapshot_.hardware().present(task.node) &&
                          queues.Under(snapshot_.job(task.job).queue, turn.level);
      ++running;
      if (!counts) continue;
      used.Add(holds(task.cls, task.node, task.slices), -1);
    }
    fits = Short(level, used, turn.least) == kMaxKinds;
  }
  if (!fits) return false;
  for (KindSet kinds = level.limited_kinds; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    turn.spare[k] = level.limit[k] - used[k] - turn.least[k];
  }
  return true;
}

}  // namespace tephra
