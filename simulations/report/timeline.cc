#include "simulations/report/timeline.h"

#include <algorithm>
#include <utility>

#include "text/format.h"

namespace tephra {
namespace {

void AddTimes(const TimeSeries::Cluster& from, double times, TimeSeries::Cluster& to) {
  to.gpus += from.gpus * times;
  to.used += from.used * times;
  to.jobs_running += from.jobs_running * times;
  to.jobs_pending += from.jobs_pending * times;
}

std::string Gpus(double milli) { return Fixed(milli / 1000, 3); }

}  // namespace

// The step of this time. Pairs of steps are merged until the number of steps is small enough.
TimeSeries::Sums& TimeSeries::Reach(TimeMs at) {
  while (at / step_ >= static_cast<TimeMs>(kMostSteps)) {
    for (std::size_t i = 0; i < steps_.size(); i += 2) {
      Sums both = std::move(steps_[i]);
      if (i + 1 < steps_.size()) {
        const Sums& next = steps_[i + 1];
        both.span += next.span;
        both.samples += next.samples;
        AddTimes(next.cluster, 1, both.cluster);
        both.cluster.fragments += next.cluster.fragments;
        both.queues.resize(std::max(both.queues.size(), next.queues.size()));
        for (std::size_t q = 0; q < next.queues.size(); ++q) {
          both.queues[q].used += next.queues[q].used;
          both.queues[q].asked += next.queues[q].asked;
          both.queues[q].share += next.queues[q].share;
          both.queues[q].deserved += next.queues[q].deserved;
        }
      }
      steps_[i / 2] = std::move(both);
    }
    steps_.resize((steps_.size() + 1) / 2);
    step_ *= 2;
    sampled_until_ = 0;
  }
  const auto index = static_cast<std::size_t>(at / step_);
  if (steps_.size() <= index) steps_.resize(index + 1);
  return steps_[index];
}

void TimeSeries::Sample(TimeMs now, double fragments, const std::vector<Queue>& queues) {
  Sums& sums = Reach(now);
  sums.samples += 1;
  sums.cluster.fragments += fragments;
  sums.queues.resize(std::max(sums.queues.size(), queues.size()));
  for (std::size_t q = 0; q < queues.size(); ++q) {
    sums.queues[q].share += queues[q].share;
    sums.queues[q].deserved += queues[q].deserved;
  }
  sampled_until_ = (now / step_ + 1) * step_;
}

void TimeSeries::Add(TimeMs from, TimeMs to, const Cluster& cluster,
                     const std::vector<Queue>& queues) {
  if (to > from) Reach(to - 1);
  while (from < to) {
    Sums& sums = Reach(from);
    const TimeMs end = std::min(to, (from / step_ + 1) * step_);
    const auto span = static_cast<double>(end - from);
    sums.span += span;
    AddTimes(cluster, span, sums.cluster);
    if (sums.queues.size() < queues.size()) sums.queues.resize(queues.size());
    for (std::size_t q = 0; q < queues.size(); ++q) {
      sums.queues[q].used += queues[q].used * span;
      sums.queues[q].asked += queues[q].asked * span;
    }
    from = end;
  }
}

std::vector<TimeSeries::Row> TimeSeries::Rows() const {
  std::vector<Row> rows;
  const Sums none;
  const Sums* sampled = &none;  // the last sampled step
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Sums& sums = steps_[i];
    if (sums.samples > 0) sampled = &sums;
    if (sums.span <= 0) continue;
    Row& row = rows.emplace_back();
    row.begin = static_cast<TimeMs>(i) * step_;
    row.span = static_cast<DurationMs>(sums.span);
    AddTimes(sums.cluster, 1 / sums.span, row.cluster);
    const double samples = std::max(sampled->samples, 1.0);
    row.cluster.fragments = sampled->cluster.fragments / samples;
    for (std::size_t q = 0; q < sums.queues.size(); ++q) {
      const Queue& queue = sums.queues[q];
      const Queue last = q < sampled->queues.size() ? sampled->queues[q] : Queue();
      row.queues.push_back({queue.used / sums.span, queue.asked / sums.span, last.share / samples,
                            last.deserved / samples});
    }
  }
  return rows;
}

std::string TimelineCsv(const std::vector<TimeSeries::Row>& rows) {
  std::string csv = "time_s,span_s,gpus,gpus_used,gpus_fragmented,jobs_running,jobs_pending\n";
  for (const TimeSeries::Row& row : rows) {
    AppendSeconds(row.begin, csv);
    csv += ',';
    AppendSeconds(row.span, csv);
    const TimeSeries::Cluster& cluster = row.cluster;
    csv += ',' + Gpus(cluster.gpus) + ',' + Gpus(cluster.used) + ',' + Gpus(cluster.fragments) +
           ',' + Fixed(cluster.jobs_running, 3) + ',' + Fixed(cluster.jobs_pending, 3) + '\n';
  }
  return csv;
}

std::string QueuesCsv(const std::vector<TimeSeries::Row>& rows,
                      const std::vector<std::string>& names) {
  std::string csv = "time_s,queue,gpus_used,gpus_requested,gpus_share,gpus_deserved\n";
  for (const TimeSeries::Row& row : rows) {
    for (std::size_t q = 0; q < row.queues.size() && q < names.size(); ++q) {
      if (names[q].empty()) continue;
      const TimeSeries::Queue& queue = row.queues[q];
      AppendSeconds(row.begin, csv);
      csv += ',';
      AppendCsv(names[q], csv);
      csv += ',' + Gpus(queue.used) + ',' + Gpus(queue.asked) + ',' + Gpus(queue.share) + ',' +
             Gpus(queue.deserved) + '\n';
    }
  }
  return csv;
}

}  // namespace tephra
