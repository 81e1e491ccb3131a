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

// A job and when it comes.
struct Arrival {
  TimeMs at = 0;
  JobSpec job;
  std::optional<DurationMs> run;   // how long each task runs; none: for ever
  std::vector<TaskRun> task_runs;  // those that run longer or shorter than that
  bool fails_whole = false;        // where a task of it fails all of it starts anew
};

inline double PartOf(std::uint64_t done, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all);
}

class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // False after the last. A fault in a file is found where it stands.
  virtual absl::StatusOr<bool> Next(Arrival& out) = 0;
  // Which part of them was given, 0 to 1, of a file by its bytes; 0 where that is not known.
  virtual double part() const = 0;
  // What was read of a trace so far, and what was wrong with it; null where there is none.
  virtual const TraceReading* reading() const { return nullptr; }
};

// Those of a list.
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
