// Which jobs wait, and which of them the next cycle asks.
#include <algorithm>
#include <iterator>

#include "plugins/framework/priority.h"
#include "plugins/framework/state.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

constexpr std::size_t kMostNodes = 64;  // that are told apart when room grew on them

}  // namespace

void State::RefreshWaiting(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const bool waits = job.waits();
  if (waits == (job.waiting_at != JobRow::kNotWaiting)) return books_.lines.Follow(books_, id);
  if (waits) {
    job.waiting_at = static_cast<std::uint32_t>(books_.waiting.size());
    books_.waiting.push_back(id);
    return books_.lines.Follow(books_, id);
  }
  const JobId last = books_.waiting.back();
  books_.waiting[job.waiting_at] = last;
  books_.jobs[last.index()].waiting_at = job.waiting_at;
  books_.waiting.pop_back();
  job.waiting_at = JobRow::kNotWaiting;
  books_.lines.Follow(books_, id);
}

void State::MarkDue(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  if (job.due) return;
  job.due = true;
  due_.push_back(id);
}

void State::MarkEvictable(JobId id) {
  if (evictable_.empty() || evictable_.back() != id) evictable_.push_back(id);
}

// Whether nothing has grown since the last cycle but by what ended when it was expected to, while
// all that waits was promised a start: then all promises stand.
bool State::WentAsPromised(const Growth& growth) {
  const std::vector<TimeMs> ends = std::move(expected_ends_);
  expected_ends_.clear();
  if (growth.times() == 0 || ends.size() != growth.times() ||
      books_.config.backfill.mode != Backfill::Mode::kConservative) {
    return false;
  }
  return std::all_of(ends.begin(), ends.end(), [&](TimeMs end) { return end == cycle_time_; }) &&
         std::all_of(books_.waiting.begin(), books_.waiting.end(), [&](JobId id) {
           const JobRow& job = books_.jobs[id.index()];
           return job.due || job.promise.at != 0 ||
                  (job.standing.asked && job.standing.verdict == Verdict::kInfeasible);
         });
}

std::vector<JobId> State::TakeDue() {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  const Growth growth = std::exchange(growth_, Growth());
  std::vector<JobId> due = std::move(due_);
  due_.clear();
  const std::vector<JobId> evictable = std::move(evictable_);
  evictable_.clear();
  const bool as_promised = WentAsPromised(growth);
  if (as_promised) {
    std::copy_if(books_.waiting.begin(), books_.waiting.end(), std::back_inserter(due),
                 [&](JobId id) {
                   const JobRow& job = books_.jobs[id.index()];
                   return !job.due && job.promise.at != 0 && job.promise.at <= cycle_time_;
                 });
  }
  for (JobId id : due) books_.jobs[id.index()].due = false;
  std::erase_if(
      due, [&](JobId id) { return books_.jobs[id.index()].waiting_at == JobRow::kNotWaiting; });
  const bool grown = growth.times() > 0 && !as_promised;
  std::vector<JobId> woken;
  if (grown && HelpsAnybody(growth)) {
    if (!books_.lines.on()) return books_.waiting;
    woken = books_.lines.Askable();
  } else {
    if (grown) woken = WokenBy(growth);
    if (!evictable.empty()) {
      const std::vector<JobId> by_them = WokenBy(evictable);
      woken.insert(woken.end(), by_them.begin(), by_them.end());
    }
  }
  if (woken.empty()) return due;
  due.insert(due.end(), woken.begin(), woken.end());
  std::sort(due.begin(), due.end());
  due.erase(std::unique(due.begin(), due.end()), due.end());
  return due;
}

// Whether that may help those, too, who have no use for the nodes and queues where it grew: others
// may be evicted or moved for them by what is held anywhere, room that is being left set aside for
// them, or promises may shift.
bool State::HelpsAnybody(const Growth& growth) const {
  const EngineConfig& config = books_.config;
  const bool moves =
      books_.movable_jobs > 0 && config.consolidation.mode != Consolidation::Mode::kOff;
  const bool leaving = !books_.releasing.empty() && config.enables("preempt");
  return growth.anywhere() || moves || leaving || config.enables("reclaim") ||
         config.priority_boost_ms > 0 || config.backfill.mode != Backfill::Mode::kNone;
}

// Whether room on a node that it may use, or its turn, is all that may help the gang to begin. What
// the last no was for may be another part of one that runs, or needs nobody to run.
bool State::WaitsForRoomAlone(const JobRow& job) const {
  const Standing& said = job.standing;
  if (!said.asked || !IsRoom(said.reason->obstacle) || said.reason->obstacle == Obstacle::kSearch ||
      said.reason->remedy == Remedy::kSearch || said.reason->remedy == Remedy::kOnce ||
      job.counted() > 0 || job.satisfied() || job.keeps_room()) {
    return false;
  }
  // Where no lines are kept those behind the first of a fifo queue are asked with him, or not.
  if (!books_.lines.on() && InOrder(job)) return false;
  return std::all_of(job.roles.begin(), job.roles.end(), [&](const RoleRow& role) {
    return books_.classes[role.cls].limits.empty();  // those count pods on other nodes
  });
}

// The jobs that wait and may be helped by that. REQUIRES: not HelpsAnybody(growth).
std::vector<JobId> State::WokenBy(const Growth& growth) {
  std::vector<JobId> woken = books_.lines.on() ? books_.lines.Askable() : books_.waiting;
  books_.hardware.Settle();
  std::vector<NodeId> nodes = growth.nodes();
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (nodes.size() > kMostNodes) return woken;
  const auto reaches = [&](const RoleRow& role) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return reach_.May(books_, role.cls, node); });
  };
  const auto& queues = growth.queues();
  std::erase_if(woken, [&](JobId id) {
    const JobRow& job = books_.jobs[id.index()];
    return std::find(queues.begin(), queues.end(), job.queue) == queues.end() &&
           WaitsForRoomAlone(job) && std::none_of(job.roles.begin(), job.roles.end(), reaches);
  });
  return woken;
}

// The jobs that wait and may be helped by the eviction of one of these.
std::vector<JobId> State::WokenBy(const std::vector<JobId>& evictable) const {
  const bool reclaim = books_.config.enables("reclaim");
  const bool preempt = books_.config.enables("preempt");
  bool movable = false;
  if (books_.waiting.empty()) return {};
  std::map<QueueId, std::int32_t> lowest;  // priority
  for (const JobId id : evictable) {
    const JobRow& job = books_.jobs[id.index()];
    if (!job.live || !job.preemptible || !books_.queues.present(job.queue)) continue;
    movable = movable || job.movable;
    const auto it = lowest.try_emplace(job.queue, job.priority).first;
    it->second = std::min(it->second, job.priority);
  }
  const auto reclaimable = [&](QueueId queue) { return books_.queues.spec(queue).reclaimable; };
  const auto lenders = std::count_if(lowest.begin(), lowest.end(),
                                     [&](const auto& one) { return reclaimable(one.first); });
  const bool moves = movable && books_.config.consolidation.mode != Consolidation::Mode::kOff;
  std::vector<JobId> woken;
  if (!moves && !reclaim && !preempt) return woken;
  const std::vector<JobId> askable =
      books_.lines.on() ? books_.lines.Askable() : std::vector<JobId>();
  const std::vector<JobId>& waiting = books_.lines.on() ? askable : books_.waiting;
  std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(woken), [&](JobId id) {
    const JobRow& job = books_.jobs[id.index()];
    if (job.satisfied() || !job.evicts) return false;
    if (moves) return true;
    const auto own = lowest.find(job.queue);
    const bool here = own != lowest.end();
    if (here && preempt &&
        (job.priority > own->second || books_.config.priority_boost_ms > 0 ||
         (job.priority == own->second && PreemptsByLeft(books_.config)))) {
      return true;
    }
    return reclaim && lenders > (here && reclaimable(job.queue) ? 1 : 0);
  });
  return woken;
}

}  // namespace tephra
