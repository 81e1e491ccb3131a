#include "engine/pending_starts.h"

#include <algorithm>
#include <bit>

namespace tephra {

// In GPU-seconds or core-seconds. A job without an estimate counts as one hour.
std::int64_t PendingStarts::WorkOf(const PendingWork& work) {
  constexpr std::int64_t kUnknown = 3600;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // sums of 2^22 jobs do not overflow
  const std::int64_t seconds =
      work.run > 0 ? std::min(work.run / kSecondMs + 1, kMost) : kUnknown;
  return work.size > kMost / seconds ? kMost : work.size * seconds;
}

void PendingStarts::Add(const PendingWork& work, int sign) {
  const std::size_t slot = SlotOf(work);
  if (sums_.size() <= slot) sums_.resize(slot + 1);
  const auto at = sums_[slot].try_emplace(work.priority).first;
  at->second += sign * WorkOf(work);
  if (at->second == 0) sums_[slot].erase(at);
}

std::int64_t PendingStarts::AheadOf(const PendingWork& work) const {
  const Sums& sums = sums_[SlotOf(work)];
  std::int64_t ahead = -WorkOf(work);
  for (auto at = sums.lower_bound(work.priority); at != sums.end(); ++at) ahead += at->second;
  return ahead;
}

void PendingStarts::Enter(JobId job, const PendingWork& work) {
  while (waits_.size() <= job.index()) waits_.emplace_back();
  Wait& wait = waits_[job.index()];
  wait = Wait{};
  wait.work = work;
  wait.pending = true;
  ++pending_;
  Add(work, +1);
  fresh_.push_back(job);
}

void PendingStarts::Change(JobId job, const PendingWork& work) {
  Wait* const wait = Find(job);
  if (wait == nullptr || wait->work == work) return;
  Add(wait->work, -1);
  const bool again = wait->work.again;
  wait->work = work;
  wait->work.again = again;
  Add(work, +1);
}

void PendingStarts::Leave(JobId job, bool started) {
  Wait& wait = *Find(job);
  wait.pending = false;
  --pending_;
  Add(wait.work, -1);
  if (wait.predicted.known() && !wait.late) ends_.erase({wait.predicted.high, job});
  if (!wait.found || !started) return;
  history_.Started(wait.subject, now_ - wait.since);
  if (!wait.predicted.known()) return;
  history_.JudgeLow(now_ < wait.predicted.low);
  if (!wait.late) history_.JudgeHigh(false);
}

void PendingStarts::Advance(TimeMs now) {
  now_ = now;
  while (!ends_.empty() && ends_.begin()->first < now) {
    Find(ends_.begin()->second)->late = true;
    history_.JudgeHigh(true);
    ends_.erase(ends_.begin());
  }
}

std::optional<StartInterval> PendingStarts::Found(JobId job) {
  Wait* const wait = Find(job);
  if (wait == nullptr || wait->found) return std::nullopt;
  const auto digits = [](std::int64_t number) {
    return static_cast<std::int8_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0))));
  };
  wait->found = true;
  wait->since = now_;
  wait->subject = {wait->work.queue, wait->work.again, wait->work.gpus, digits(wait->work.size),
                   digits(AheadOf(wait->work))};
  const auto predicted = history_.Predict(wait->subject, 0);
  if (!predicted) return std::nullopt;
  wait->predicted = {now_ + predicted->low, now_ + predicted->high};
  ends_.emplace(wait->predicted.high, job);
  return wait->predicted;
}

StartInterval PendingStarts::Of(JobId job) const {
  const Wait* const wait = Find(job);
  if (wait == nullptr || !wait->found) return {};
  if (wait->predicted.known() && now_ <= wait->predicted.low) return wait->predicted;
  const auto predicted = history_.Predict(wait->subject, now_ - wait->since);
  if (!predicted) return {};
  return {wait->since + predicted->low, wait->since + predicted->high};
}

std::string PendingStarts::Check(
    const std::vector<std::pair<JobId, PendingWork>>& pending) const {
  PendingStarts fresh;
  for (const auto& [job, work] : pending) {
    const Wait* const wait = Find(job);
    if (wait == nullptr) return "start intervals: a pending job is missing";
    PendingWork known = wait->work;
    known.again = work.again;  // as of the begin of the wait
    if (known != work) return "start intervals: a pending job is known otherwise";
    fresh.Enter(job, work);
  }
  if (fresh.pending_ != pending_) return "start intervals: a job is not pending";
  fresh.sums_.resize(std::max(fresh.sums_.size(), sums_.size()));
  std::vector<Sums> sums = sums_;
  sums.resize(fresh.sums_.size());
  return fresh.sums_ == sums ? "" : "start intervals: the work ahead differs from the jobs'";
}

}  // namespace tephra
