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
  Wait& wait = waits_[job];
  wait = Wait{};
  wait.work = work;
  Add(work, +1);
  fresh_.push_back(job);
}

void PendingStarts::Change(JobId job, const PendingWork& work) {
  const auto at = waits_.find(job);
  if (at == waits_.end() || at->second.work == work) return;
  Add(at->second.work, -1);
  const bool again = at->second.work.again;
  at->second.work = work;
  at->second.work.again = again;
  Add(work, +1);
}

void PendingStarts::Leave(JobId job, bool started) {
  const auto at = waits_.find(job);
  const Wait wait = at->second;
  waits_.erase(at);
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
    waits_.find(ends_.begin()->second)->second.late = true;
    history_.JudgeHigh(true);
    ends_.erase(ends_.begin());
  }
}

std::optional<StartInterval> PendingStarts::Found(JobId job) {
  const auto at = waits_.find(job);
  if (at == waits_.end() || at->second.found) return std::nullopt;
  Wait& wait = at->second;
  const auto digits = [](std::int64_t number) {
    return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0)));
  };
  wait.found = true;
  wait.since = now_;
  wait.subject = {wait.work.again, wait.work.gpus, wait.work.queue,
                  static_cast<int>(digits(wait.work.size)),
                  static_cast<int>(digits(AheadOf(wait.work)))};
  const auto predicted = history_.Predict(wait.subject, 0);
  if (!predicted) return std::nullopt;
  wait.predicted = {now_ + predicted->low, now_ + predicted->high};
  ends_.emplace(wait.predicted.high, job);
  return wait.predicted;
}

StartInterval PendingStarts::Of(JobId job) const {
  const auto at = waits_.find(job);
  if (at == waits_.end() || !at->second.found) return {};
  const Wait& wait = at->second;
  if (wait.predicted.known() && now_ <= wait.predicted.low) return wait.predicted;
  const auto predicted = history_.Predict(wait.subject, now_ - wait.since);
  if (!predicted) return {};
  return {wait.since + predicted->low, wait.since + predicted->high};
}

std::string PendingStarts::Check(
    const std::vector<std::pair<JobId, PendingWork>>& pending) const {
  PendingStarts fresh;
  for (const auto& [job, work] : pending) {
    const auto at = waits_.find(job);
    if (at == waits_.end()) return "start intervals: a pending job is missing";
    PendingWork known = at->second.work;
    known.again = work.again;  // as of the begin of the wait
    if (known != work) return "start intervals: a pending job is known otherwise";
    fresh.Enter(job, work);
  }
  if (fresh.waits_.size() != waits_.size()) return "start intervals: a job is not pending";
  fresh.sums_.resize(std::max(fresh.sums_.size(), sums_.size()));
  std::vector<Sums> sums = sums_;
  sums.resize(fresh.sums_.size());
  return fresh.sums_ == sums ? "" : "start intervals: the work ahead differs from the jobs'";
}

}  // namespace tephra
