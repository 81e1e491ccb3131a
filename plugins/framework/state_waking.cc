// Which jobs wait, and which of them the next cycle asks.
#include <algorithm>
#include <iterator>

#include "plugins/framework/priority.h"
#include "plugins/framework/state.h"
#include "topology/base/check.h"

namespace tephra {

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

// Whether the books have grown, by so much since the last cycle, by nothing but what ended when it
// was expected to, while all that waits was promised a start: then all promises stand.
bool State::WentAsPromised(std::uint64_t grown_by) {
  const std::vector<TimeMs> ends = std::move(expected_ends_);
  expected_ends_.clear();
  if (grown_by == 0 || ends.size() != grown_by ||
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
  const std::uint64_t grown_by = books_.growth - asked_growth_;
  asked_growth_ = books_.growth;
  std::vector<JobId> due = std::move(due_);
  due_.clear();
  const std::vector<JobId> evictable = std::move(evictable_);
  evictable_.clear();
  const bool as_promised = WentAsPromised(grown_by);
  if (as_promised) {
    std::copy_if(books_.waiting.begin(), books_.waiting.end(), std::back_inserter(due),
                 [&](JobId id) {
                   const JobRow& job = books_.jobs[id.index()];
                   return !job.due && job.promise.at != 0 && job.promise.at <= cycle_time_;
                 });
  }
  const bool grown = grown_by != 0 && !as_promised;
  for (JobId id : due) books_.jobs[id.index()].due = false;
  if (grown && !books_.lines.on()) return books_.waiting;
  std::erase_if(
      due, [&](JobId id) { return books_.jobs[id.index()].waiting_at == JobRow::kNotWaiting; });
  std::vector<JobId> woken;
  if (grown) {
    woken = books_.lines.Askable();
  } else if (!evictable.empty()) {
    woken = WokenBy(evictable);
  }
  if (woken.empty()) return due;
  std::sort(due.begin(), due.end());
  std::sort(woken.begin(), woken.end());
  std::vector<JobId> both;
  std::set_union(due.begin(), due.end(), woken.begin(), woken.end(), std::back_inserter(both));
  return both;
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
