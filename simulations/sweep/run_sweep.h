// RunSweep: executes the runs of a sweep on several threads, each in its own folder. Finished runs
// are reused.
//
//   DIR/easy/0.8/3/summary.json   what tephra simulate writes
//   DIR/easy/0.8/3/inputs.txt     its inputs, written last; the run is executed again if this file
//                                 is missing or differs
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
  // One value for each metric of the sweep.
  using Figures = std::vector<std::optional<double>>;
  std::vector<std::optional<Figures>> runs;  // in the order of RunsOf; none: failed or not executed
  std::vector<std::string> failures;         // one text for each failed run, with its name
  std::size_t made = 0, kept = 0;
  bool interrupted = false;
};

// The result of a run depends only on its document, not on the number of threads.
SweepOutcome RunSweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace tephra
