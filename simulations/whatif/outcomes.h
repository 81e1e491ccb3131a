// Outcomes: what became of each job in a run, and in what two runs differ.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/framework/state.h"
#include "simulations/report/summary.h"
#include "simulations/world.h"

namespace tephra {

struct JobOutcome {
  std::string uid, name, queue;
  TimeMs arrival = 0;
  bool waited = false;  // it was there when the run began, and had not started
  TimeMs start = -1;    // when its gang first started; -1: not yet
  TimeMs end = -1;
  std::int32_t evictions = 0;  // in the run
  JobState state = JobState::kWaiting;
  std::string where;  // nodes, of its last attempts
  std::string why;    // it does not run
};

// One run. One owner thread.
class Outcomes final : public WorldListener {
 public:
  // `began`: when the run did. The state is the engine's.
  Outcomes(const State& state, TimeMs began) : state_(state), began_(began) {}

  void JobArrived(const JobRecord& job) override;
  void JobEnded(const JobRecord& job) override { Note(job); }
  void JobLeft(const JobRecord& job) override { Note(job); }

  // By uid. Times are the run's.
  const std::map<std::string, JobOutcome>& jobs() const { return jobs_; }

 private:
  void Note(const JobRecord& job);

  const State& state_;
  const TimeMs began_;
  std::map<std::string, JobOutcome> jobs_;
};

// A job in both runs; null where there is no such job.
struct JobDifference {
  const JobOutcome* before = nullptr;
  const JobOutcome* after = nullptr;
};

// Jobs that start, end or are evicted at other times or in other numbers, the largest difference of
// starts first, then of ends. Both must outlive it.
std::vector<JobDifference> DifferencesOf(const Outcomes& before, const Outcomes& after);
// Jobs that differ in nothing but the nodes where they run.
std::int64_t ElsewhereIn(const Outcomes& before, const Outcomes& after);

// Waits of a group of jobs; those that never start count as waiting until `end`.
struct Waits {
  std::int64_t jobs = 0, started = 0, evictions = 0;
  double mean_s = 0, median_s = 0, p95_s = 0;  // nearest rank
};
struct RunTotals {
  Waits all, waiting, coming;  // those that waited when the run began, and came later
  std::map<std::string, Waits> queues;
};
RunTotals TotalsOf(const Outcomes& outcomes, TimeMs began, TimeMs end);

}  // namespace tephra
