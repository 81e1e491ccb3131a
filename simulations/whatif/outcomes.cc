#include "simulations/whatif/outcomes.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "simulations/report/recorder.h"
#include "text/format.h"

namespace tephra {
namespace {

bool SameTimes(const JobOutcome& a, const JobOutcome& b) {
  return std::tie(a.start, a.end, a.evictions, a.state) ==
         std::tie(b.start, b.end, b.evictions, b.state);
}

// The distance of two times. A time that never comes is further away than any other.
DurationMs Distance(TimeMs a, TimeMs b) {
  if (a == b) return 0;
  if (a < 0 || b < 0) return std::numeric_limits<DurationMs>::max();
  return a < b ? b - a : a - b;
}

Waits WaitsOf(const std::vector<const JobOutcome*>& jobs, TimeMs end) {
  Waits waits;
  std::vector<DurationMs> each;
  for (const JobOutcome* job : jobs) {
    ++waits.jobs;
    waits.started += job->start >= 0;
    waits.evictions += job->evictions;
    const TimeMs until = job->start >= 0 ? job->start : job->end >= 0 ? job->end : end;
    each.push_back(std::max<DurationMs>(until - job->arrival, 0));
  }
  if (each.empty()) return waits;
  std::sort(each.begin(), each.end());
  double sum = 0;
  for (const DurationMs wait : each) sum += static_cast<double>(wait);
  const auto rank = [&](std::size_t percent) {
    const std::size_t place = (each.size() * percent + 99) / 100;
    return static_cast<double>(each[std::max<std::size_t>(place, 1) - 1]) / kSecondMs;
  };
  waits.mean_s = sum / static_cast<double>(each.size()) / kSecondMs;
  waits.median_s = rank(50);
  waits.p95_s = rank(95);
  return waits;
}

}  // namespace

void Outcomes::JobArrived(const JobRecord& job) {
  JobOutcome& outcome = jobs_[job.uid];
  outcome = {};
  outcome.uid = job.uid;
  outcome.name = job.name;
  outcome.queue = job.queue;
  outcome.arrival = job.arrival;
  outcome.waited = job.start < 0 && job.arrival <= began_;
}

void Outcomes::Note(const JobRecord& job) {
  JobOutcome& outcome = jobs_.at(job.uid);
  outcome.queue = job.queue;
  outcome.start = job.start;
  outcome.end = job.end;
  outcome.first_interval = job.first_interval;
  outcome.evictions = job.evictions;
  outcome.state = StateOf(job);
  outcome.where = WhereText(job);
  if (outcome.state == JobState::kWaiting || outcome.state == JobState::kInfeasible) {
    outcome.why = ReasonText(state_.books().kinds, job.reason);
  }
}

std::vector<JobDifference> DifferencesOf(const Outcomes& before, const Outcomes& after) {
  std::vector<JobDifference> differences;
  for (const auto& [uid, job] : before.jobs()) {
    const auto other = after.jobs().find(uid);
    if (other == after.jobs().end()) {
      differences.push_back({&job, nullptr});
    } else if (!SameTimes(job, other->second)) {
      differences.push_back({&job, &other->second});
    }
  }
  for (const auto& [uid, job] : after.jobs()) {
    if (!before.jobs().contains(uid)) differences.push_back({nullptr, &job});
  }
  // Jobs that are in one run only come first.
  const auto rank = [](const JobDifference& one) {
    const bool both = one.before != nullptr && one.after != nullptr;
    const JobOutcome& job = one.before != nullptr ? *one.before : *one.after;
    const DurationMs start = both ? Distance(one.before->start, one.after->start) : 0;
    const DurationMs end = both ? Distance(one.before->end, one.after->end) : 0;
    return std::make_tuple(both, -start, -end, job.arrival);
  };
  std::sort(differences.begin(), differences.end(),
            [&](const JobDifference& a, const JobDifference& b) {
              if (rank(a) != rank(b)) return rank(a) < rank(b);
              const JobOutcome& x = a.before != nullptr ? *a.before : *a.after;
              const JobOutcome& y = b.before != nullptr ? *b.before : *b.after;
              return x.name != y.name ? NameBefore(x.name, y.name) : x.uid < y.uid;
            });
  return differences;
}

std::int64_t ElsewhereIn(const Outcomes& before, const Outcomes& after) {
  std::int64_t count = 0;
  for (const auto& [uid, job] : before.jobs()) {
    const auto other = after.jobs().find(uid);
    if (other == after.jobs().end()) continue;
    count += SameTimes(job, other->second) && job.where != other->second.where;
  }
  return count;
}

RunTotals TotalsOf(const Outcomes& outcomes, TimeMs began, TimeMs end) {
  std::vector<const JobOutcome*> all, waiting, coming;
  std::map<std::string, std::vector<const JobOutcome*>> queues;
  for (const auto& [uid, job] : outcomes.jobs()) {
    const bool ran = !job.waited && job.arrival <= began;
    all.push_back(&job);
    if (job.waited) waiting.push_back(&job);
    if (!job.waited && !ran) coming.push_back(&job);
    if (!ran) queues[job.queue].push_back(&job);
  }
  RunTotals totals{WaitsOf(all, end), WaitsOf(waiting, end), WaitsOf(coming, end), {}};
  for (const auto& [queue, jobs] : queues) totals.queues[queue] = WaitsOf(jobs, end);
  return totals;
}

}  // namespace tephra
