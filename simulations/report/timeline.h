// TimeSeries: the use of the cluster and of each queue over the time of a run, in steps of equal
// length, of which there are never more than kMostSteps: where they end, two become one.
//
// Given: what is used between two instants. Computed: the mean over each step, so that nothing
// between two points is missed. What is dear to work out (fair shares, fragments) is asked for
// once a step, at its first instant. One owner thread.
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
    double gpus = 0, used = 0, fragments = 0, jobs_running = 0, jobs_waiting = 0;
  };
  struct Queue {
    double used = 0, asked = 0, share = 0, deserved = 0;  // asked: by tasks that wait
  };
  struct Row {
    TimeMs begin = 0;
    DurationMs span = 0;  // of the step, what was lived through
    Cluster cluster;
    std::vector<Queue> queues;  // by QueueId, as far as any was known
  };

  // Whether nothing was sampled yet in the step of that instant.
  bool WantsSample(TimeMs now) const { return now >= sampled_until_; }
  // What holds at the first instant of a step in which anything happens: fragments, and share and
  // deserved of queues. A step in which nothing does has those of the one before.
  void Sample(TimeMs now, double fragments, const std::vector<Queue>& queues);
  // What held from one instant to the other: all but what is sampled.
  void Add(TimeMs from, TimeMs to, const Cluster& cluster, const std::vector<Queue>& queues);

  DurationMs step() const { return step_; }
  // Those in which anything was added, in the order of time.
  std::vector<Row> Rows() const;

 private:
  // Sums over the step's time in ms, or over its samples.
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

// time_s,span_s,gpus,gpus_used,gpus_fragmented,jobs_running,jobs_waiting
std::string TimelineCsv(const std::vector<TimeSeries::Row>& rows);
// time_s,queue,gpus_used,gpus_asked,gpus_share,gpus_deserved; `names` by QueueId, empty: no row.
std::string QueuesCsv(const std::vector<TimeSeries::Row>& rows,
                      const std::vector<std::string>& names);

}  // namespace tephra
