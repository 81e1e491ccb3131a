// JobStats: what became of jobs, of all and by queue and user: waits, completion times, slowdowns,
// evictions, lost work; and the rows of jobs.csv.
//
// Memory grows with the queues and users, not with the jobs. Percentiles are exact below 2048 ms
// and at most 0.1 % too high above (simulations/traces/percentiles.h). One owner thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "simulations/output_file.h"
#include "simulations/report/summary.h"
#include "simulations/traces/percentiles.h"
#include "simulations/world.h"

namespace tephra {

// Sum and percentiles of amounts that are told in thousandths: ms, slowdowns times 1000.
class Amounts {
 public:
  void Add(std::int64_t thousandths);
  AmountsLine Line() const;

 private:
  Percentiles percentiles_;
  double sum_ = 0;
};

class JobStats {
 public:
  // A null file: no rows are written. Jobs of `large` are also told apart.
  explicit JobStats(std::unique_ptr<OutputFile> rows,
                    const std::optional<LargeGangs>& large = std::nullopt);

  // A job that ended, or is still there when all ends. `why` it does not run; may be empty.
  void Add(const JobRecord& job, JobState state, const std::string& why);
  // Moves the file to its place.
  absl::Status Commit();

  void Fill(Summary& summary) const;

 private:
  struct Group {
    std::int64_t jobs = 0, finished = 0, evictions = 0, failures = 0, restarts = 0;
    double gpu_s = 0, lost_gpu_s = 0;
    Amounts waits, completions, slowdowns;

    void Add(const JobRecord& job, JobState state);
    GroupLine Line(const std::string& name) const;
  };
  // Users may be many: only sums of theirs are kept.
  struct User {
    std::int64_t jobs = 0, started = 0, finished = 0;
    double gpu_s = 0, wait_s = 0, slowdown = 0;
  };
  void Write(const JobRecord& job, JobState state, const std::string& why);

  std::unique_ptr<OutputFile> rows_;
  std::string row_;
  const std::optional<LargeGangs> large_;
  Group all_, of_large_;
  std::map<std::string, Group> queues_;
  std::map<std::string, User> users_;
};

// A finished job's completion time over its own run time, which counts as 10 s at least; at least
// 1 (Feitelson et al., JSSPP 1997). In thousandths.
std::int64_t BoundedSlowdown(const JobRecord& job);

}  // namespace tephra
