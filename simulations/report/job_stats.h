// JobStats: statistics of jobs, in total, by queue and by user: waits, completion times, slowdowns,
// evictions and lost work. It also writes the rows of jobs.csv.
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

// Sum and percentiles of amounts in thousandths: milliseconds, or slowdowns times 1000.
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
  // If the file is null, no rows are written. Jobs of `large` also have statistics of their own.
  explicit JobStats(std::unique_ptr<OutputFile> rows,
                    const std::optional<LargeGangs>& large = std::nullopt);

  // Adds a job that ended, or that is left at the end. `why`: the reason why it is pending; may be
  // empty.
  void Add(const JobRecord& job, JobState state, const std::string& why);
  // Renames the file to its final name.
  absl::Status Commit();
  absl::Status Close();  // writes it to the disk; see OutputFile::Close

  void Fill(Summary& summary) const;

 private:
  struct Group {
    std::int64_t jobs = 0, finished = 0, evictions = 0, failures = 0, restarts = 0;
    double gpu_s = 0, lost_gpu_s = 0;
    Amounts waits, completions, slowdowns;

    void Add(const JobRecord& job, JobState state);
    GroupLine Line(const std::string& name) const;
  };
  // There may be many users, so only sums are kept for each.
  struct User {
    std::int64_t jobs = 0, started = 0, finished = 0;
    double gpu_s = 0, wait_s = 0, slowdown = 0;
  };
  struct Intervals {
    IntervalsLine line;  // without widths
    Amounts widths;
  };
  void AddInterval(const JobRecord& job);
  void Write(const JobRecord& job, JobState state, const std::string& why);

  std::unique_ptr<OutputFile> rows_;
  std::string row_;
  const std::optional<LargeGangs> large_;
  Group all_, of_large_;
  Intervals intervals_;
  std::map<std::string, Group> queues_;
  std::map<std::string, User> users_;
};

// The completion time of a finished job divided by its run time (at least 10 s); at least 1
// (Feitelson et al., JSSPP 1997). In thousandths.
std::int64_t BoundedSlowdown(const JobRecord& job);

}  // namespace tephra
