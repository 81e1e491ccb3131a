// RunSimulation: loads and runs one simulation file and writes its output files.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "simulations/report/curve.h"
#include "simulations/report/summary.h"
#include "simulations/workload/simulation.h"
#include "simulations/world.h"
#include "topology/base/status.h"

namespace tephra {

struct SimulateOptions {
  std::string path;
  std::optional<std::string> directory;  // replaces outputs.directory of the file
  std::optional<std::uint64_t> seed;     // replaces policies.seed of the file
  std::string journal;                   // empty: no journal is written
  std::optional<std::string> trace;      // replaces workload.trace.file
  bool strict = false;  // the first line of a trace that would be skipped is an error
  // If it becomes true, the run ends and its results so far are written. May be null.
  const std::atomic<bool>* stop = nullptr;
};

// Options of the run of a loaded simulation.
struct RunOptions {
  std::string journal{};                    // as above
  const std::atomic<bool>* stop = nullptr;  // as above
  // One of many runs: no progress bar, and if the run is stopped it fails with CANCELLED and writes
  // no files.
  bool one_of_many = false;
  // Has the state of simulation.handover and nothing else; null: a new engine.
  Engine* engine = nullptr;
  WorldListener* listener = nullptr;  // is notified of all jobs
};

struct SimulateResult {
  Summary summary;
  Curve curve;
};

// A stopped run is not a failure: its Summary says that it was interrupted.
//
// Writes the requested files (tasks.csv, jobs.csv, timeline.csv, queues.csv, curve.csv,
// summary.json), all of them or, if there is an error, none. The journal is written during the run,
// so that it also records a run that dies.
absl::StatusOr<SimulateResult> RunSimulation(const SimulateOptions& options);
absl::StatusOr<SimulateResult> RunSimulation(Simulation simulation, const RunOptions& options);

}  // namespace tephra
