// Which jobs wait, and which of them the next cycle asks.
#include <algorithm>
#include <iterator>

#include "plugins/framework/state.h"
#include "topology/base/check.h"

namespace tephra {

void State::RefreshWaiting(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const bool waits = job.waits();
  if (waits == (job.waiting_at != JobRow::kNotWaiting)) return;
  if (waits) {
    job.waiting_at = static_cast<std::uint32_t>(books_.waiting.size());
    books_.waiting.push_back(id);
    return;
  }
  const JobId last = books_.waiting.back();
  books_.waiting[job.waiting_at] = last;
  books_.jobs[last.index()].waiting_at = job.waiting_at;
  books_.waiting.pop_back();
  job.waiting_at = JobRow::kNotWaiting;
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

std::vector<JobId> State::TakeDue() {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  const bool grown = books_.growth != asked_growth_;
  asked_growth_ = books_.growth;
  for (JobId id : due_) books_.jobs[id.index()].due = false;
  std::vector<JobId> due = std::move(due_);
  due_.clear();
  const std::vector<JobId> evictable = std::move(evictable_);
  evictable_.clear();
  if (grown) {
    due = books_.waiting;
  } else {
    std::erase_if(
        due, [&](JobId id) { return books_.jobs[id.index()].waiting_at == JobRow::kNotWaiting; });
  }
  // What is promised is promised anew beside what came.
  if (!grown && !due.empty() && books_.config.backfill.mode != Backfill::Mode::kNone) {
    std::sort(due.begin(), due.end());
    const auto asked = static_cast<std::ptrdiff_t>(due.size());
    for (const JobId id : books_.waiting) {
      const bool known = std::binary_search(due.begin(), due.begin() + asked, id);
      if (!known && books_.jobs[id.index()].promise.at != 0) due.push_back(id);
    }
  }
  if (grown || evictable.empty()) return due;
  std::vector<JobId> woken = WokenBy(evictable);
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
  std::copy_if(books_.waiting.begin(), books_.waiting.end(), std::back_inserter(woken),
               [&](JobId id) {
                 const JobRow& job = books_.jobs[id.index()];
                 if (job.satisfied() || !job.evicts) return false;
                 if (moves) return true;
                 const auto own = lowest.find(job.queue);
                 const bool here = own != lowest.end();
                 if (here && preempt &&
                     (job.priority > own->second || books_.config.priority_boost_ms > 0)) {
                   return true;
                 }
                 return reclaim && lenders > (here && reclaimable(job.queue) ? 1 : 0);
               });
  return woken;
}

}  // namespace tephra
