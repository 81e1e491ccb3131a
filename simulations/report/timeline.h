// TimeSeries: the use of the cluster and of each queue over time, in at most kMostSteps steps of
// equal length. If the run is longer, pairs of steps are merged.
//
// Given: the use between two times. Computed: the mean over each step. Values that are expensive to
// compute (fair shares, fragments) are sampled once in each step, at its first event. One owner
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/time.h"

namespace tephra {

class TimeSeries {
 public:
  static constexpr std::size_t kMostSteps = 1000;

  // Milli-GPUs, but for jobs.
  struct Cluster {
    double gpus = 0, used = 0, fragments = 0, jobs_running = 0, jobs_pending = 0;
  };
  struct Queue {
    double used = 0, asked = 0, share = 0, deserved = 0;  // asked: by pending tasks
  };
  struct Row {
    TimeMs begin = 0;
    DurationMs span = 0;  // the simulated part of the step
    Cluster cluster;
    std::vector<Queue> queues;  // by QueueId
  };

  // True if the step of this time has no sample yet.
  bool WantsSample(TimeMs now) const { return now >= sampled_until_; }
  // The values at the first event of a step: fragments, and the share and deserved amounts of
  // queues. A step without an event has the values of the previous step.
  void Sample(TimeMs now, double fragments, const std::vector<Queue>& queues);
  // The values between two times, except the sampled ones.
  void Add(TimeMs from, TimeMs to, const Cluster& cluster, const std::vector<Queue>& queues);

  DurationMs step() const { return step_; }
  // The steps with values, by time.
  std::vector<Row> Rows() const;

 private:
  // Sums over the time of the step in ms, or over its samples.
  struct Sums {
    double span = 0, samples = 0;
    Cluster cluster;
    std::vector<Queue> queues;
  };
  Sums& Reach(TimeMs at);

  DurationMs step_ = kSecondMs;
  TimeMs sampled_until_ = 0;
  std::vector<Sums> steps_;
};

// time_s,span_s,gpus,gpus_used,gpus_fragmented,jobs_running,jobs_pending
std::string TimelineCsv(const std::vector<TimeSeries::Row>& rows);
// time_s,queue,gpus_used,gpus_requested,gpus_share,gpus_deserved; `names` by QueueId, empty: no
// row.
std::string QueuesCsv(const std::vector<TimeSeries::Row>& rows,
                      const std::vector<std::string>& names);

}  // namespace tephra
