// RunSweep: the runs of a sweep on several threads, each in its folder, those left out that are
// there already.
//
//   DIR/easy/0.8/3/summary.json   what tephra simulate writes
//   DIR/easy/0.8/3/inputs.txt     what it was made from, written last: without it, or where it
//                                 differs, the run is made anew
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "simulations/sweep/sweep_file.h"
#include "topology/base/status.h"

namespace tephra {

struct SweepOptions {
  std::string directory;
  std::string program;  // see RunInputs
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // as of SimulateOptions
};

struct SweepOutcome {
  // One for each metric of the sweep.
  using Figures = std::vector<std::optional<double>>;
  std::vector<std::optional<Figures>> runs;  // as RunsOf; none: it failed, or was not reached
  std::vector<std::string> failures;         // with the run's name, in the order of runs
  std::size_t made = 0, kept = 0;
  bool interrupted = false;
};

// What a run decides depends on nothing but its document, so that the number of threads shows
// nowhere.
SweepOutcome RunSweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace tephra
