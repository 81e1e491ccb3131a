// Recorder: observes a run and collects its results: the rows of tasks.csv and jobs.csv as jobs
// end, the allocation curve, the timeline, and the sums of the Summary.
//
// Memory grows with the current jobs, not with the ended jobs (only the first kMostEndedLines ended
// jobs are kept for the summary). One owner thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cycle.h"
#include "engine/engine.h"
#include "simulations/output_file.h"
#include "simulations/report/curve.h"
#include "simulations/report/fragments.h"
#include "simulations/report/job_stats.h"
#include "simulations/report/summary.h"
#include "simulations/report/timeline.h"
#include "simulations/world.h"
#include "topology/all_reduce.h"

namespace tephra {

JobState StateOf(const JobRecord& job);
// The nodes of the tasks that run or ended, with the number of tasks: "a-0 x8, a-1".
std::string WhereText(const JobRecord& job);

class Recorder final : public WorldListener {
 public:
  static constexpr std::size_t kMostEndedLines = 1000;

  // `state` belongs to the engine. `shapes` are the typical pods, for the fragmentation. If a file
  // is null, its rows are not written. Without bandwidths no all-reduce is estimated. `large`: see
  // JobStats.
  Recorder(const State& state, const std::vector<ExpectedPod>& shapes,
           std::optional<Bandwidths> bandwidths, std::unique_ptr<OutputFile> tasks,
           std::unique_ptr<OutputFile> jobs, const std::optional<LargeGangs>& large = std::nullopt);

  // Ignores everything before that time. REQUIRES: no cycle was recorded.
  void BeginAt(TimeMs time);
  void JobArrived(const JobRecord& job) override;
  void JobEnded(const JobRecord& job) override;
  // Call it after the plan of a batch was executed.
  void AfterCycle(TimeMs now, std::size_t events, const Plan& plan);

  // Writes the rows of the jobs that are left and returns the Summary. It must be the last call
  // that records. `now` is the end of the simulation.
  Summary Finish(const World& world, TimeMs now);
  // Renames the files of rows to their final names.
  absl::Status CommitRows();
  // Writes the files of rows to the disk; see OutputFile::Close.
  absl::Status CloseRows();
  // The names of the queues of the timeline, by QueueId.
  std::vector<std::string> QueueNames() const;

  const Curve& curve() const { return curve_; }
  const TimeSeries& timeline() const { return timeline_; }

 private:
  void NoteMoves(TimeMs now, const Decision& decision);
  struct QueueSums {
    std::int64_t arrived = 0, started = 0, ended = 0, running = 0, waiting = 0;
    DurationMs wait = 0;
  };
  JobLine LineOf(const JobRecord& job) const;
  void Count(const JobRecord& job, JobState state);
  void WriteRows(const JobRecord& job);
  void Integrate(TimeMs now);
  void AddResources(Summary& summary) const;
  void AddQueues(Summary& summary) const;
  void AddNodes(Summary& summary) const;
  void AddFairness(Summary& summary) const;
  void FollowUse(TimeMs now);
  void FollowTime(TimeMs now);
  std::string WhyNot(const JobRecord& job, JobState state) const;

  const State& state_;
  const std::optional<Bandwidths> bandwidths_;
  std::unique_ptr<OutputFile> tasks_;
  std::string row_;
  Curve curve_;
  Fragments fragments_;
  bool arrivals_ = false;         // since the last cycle
  std::int64_t gpu_arrived_ = 0;  // milli-GPUs
  std::int64_t ended_jobs_ = 0;
  TimeMs last_ = 0;
  // Sums over time, by kind.
  struct Use {
    std::array<double, kMaxKinds> used_ms{}, capacity_ms{};
    double Percent(Kind kind) const;
  };
  Use use_, use_until_last_arrival_;
  Resources used_, capacity_, peak_;
  std::map<std::string, QueueSums> queues_;
  JobStats stats_;
  TimeSeries timeline_;
  TimeSeries::Cluster cluster_now_;
  std::vector<TimeSeries::Queue> queues_now_;
  std::vector<JobLine> ended_;
  Summary sums_;
};

}  // namespace tephra
