// Arrivals: the jobs of a workload one after another, in the order of their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "queue/job.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

struct TraceReading;

struct TaskRun {
  std::string role;
  std::int32_t index = 0;
  DurationMs run = 0;
};

// A job and its submission time.
struct Arrival {
  TimeMs at = 0;
  JobSpec job;
  std::optional<DurationMs> run;   // run time of each task; none: it never ends
  std::vector<TaskRun> task_runs;  // tasks with another run time
  bool fails_whole = false;        // the failure of one task restarts the whole gang
  DurationMs stuck_for = 0;        // how long its evicted tasks still terminate after their grace period
};

inline double PartOf(std::uint64_t done, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
}

class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // Reads the next job; false after the last. An error names the faulty line of the file.
  virtual absl::StatusOr<bool> Next(Arrival& out) = 0;
  // The fraction of the workload that was read, 0 to 1 (of a file: by bytes); 0 if unknown.
  virtual double part() const = 0;
  // The records and faults of the trace so far; null if the workload is not a trace.
  virtual const TraceReading* reading() const { return nullptr; }
};

// The jobs of a list.
class ListedArrivals final : public Arrivals {
 public:
  explicit ListedArrivals(std::vector<Arrival> jobs) : jobs_(std::move(jobs)) {}
  absl::StatusOr<bool> Next(Arrival& out) override {
    if (next_ == jobs_.size()) return false;
    out = std::move(jobs_[next_++]);
    return true;
  }
  double part() const override { return PartOf(next_, jobs_.size()); }

 private:
  std::vector<Arrival> jobs_;
  std::size_t next_ = 0;
};

}  // namespace tephra
