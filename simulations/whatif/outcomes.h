// Outcomes: the result of each job in a run, and the differences of two runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/start_interval.h"
#include "engine/state.h"
#include "simulations/report/summary.h"
#include "simulations/world.h"

namespace tephra {

struct JobOutcome {
  std::string uid, name, queue;
  TimeMs arrival = 0;
  bool waited = false;  // pending when the run began
  TimeMs start = -1;    // when its gang first started; -1: not yet
  TimeMs end = -1;
  std::optional<StartInterval> first_interval;  // when it was first found pending
  std::int32_t evictions = 0;                   // during the run
  JobState state = JobState::kWaiting;
  std::string where;  // the nodes of its last attempts
  std::string why;    // the reason why it is pending
};

// The outcomes of one run. One owner thread.
class Outcomes final : public WorldListener {
 public:
  // `began`: the start of the run. `state` belongs to the engine.
  Outcomes(const State& state, TimeMs began) : state_(state), began_(began) {}

  void JobArrived(const JobRecord& job) override;
  void JobEnded(const JobRecord& job) override { Note(job); }
  void JobLeft(const JobRecord& job) override { Note(job); }

  // By uid. Times are on the clock of the run.
  const std::map<std::string, JobOutcome>& jobs() const { return jobs_; }

 private:
  void Note(const JobRecord& job);

  const State& state_;
  const TimeMs began_;
  std::map<std::string, JobOutcome> jobs_;
};

// A job in both runs; null if a run does not have it.
struct JobDifference {
  const JobOutcome* before = nullptr;
  const JobOutcome* after = nullptr;
};

// The jobs with another start, end or number of evictions. Sorted by the difference of starts, then
// of ends, largest first. Both arguments must outlive the result.
std::vector<JobDifference> DifferencesOf(const Outcomes& before, const Outcomes& after);
// The number of jobs that differ only in their nodes.
std::int64_t ElsewhereIn(const Outcomes& before, const Outcomes& after);

// The waits of a group of jobs. A job that never starts waits until `end`.
struct Waits {
  std::int64_t jobs = 0, started = 0, evictions = 0;
  double mean_s = 0, median_s = 0, p95_s = 0;  // nearest rank
};
struct RunTotals {
  Waits all, waiting, coming;  // `waiting`: pending when the run began; `coming`: submitted later
  std::map<std::string, Waits> queues;
};
RunTotals TotalsOf(const Outcomes& outcomes, TimeMs began, TimeMs end);

}  // namespace tephra
