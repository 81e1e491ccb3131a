// RunSimulation: one simulation file from its first line to its last output.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "plugins/framework/engine.h"
#include "simulations/report/curve.h"
#include "simulations/report/summary.h"
#include "simulations/workload/simulation.h"
#include "simulations/world.h"
#include "topology/base/status.h"

namespace tephra {

struct SimulateOptions {
  std::string path;
  std::optional<std::string> directory;  // instead of the file's outputs.directory
  std::optional<std::uint64_t> seed;     // instead of the file's policies.seed
  std::string journal;                   // empty: none is written
  std::optional<std::string> trace;      // instead of the file of workload.trace
  bool strict = false;  // the first line of a trace that would be skipped is an error
  // True: the run is to end, and what is known by then to be written. Null: nobody stops it.
  const std::atomic<bool>* stop = nullptr;
};

// How a simulation that was read is run.
struct RunOptions {
  std::string journal{};                    // as above
  const std::atomic<bool>* stop = nullptr;  // as above
  // For a run among many: silent, and where it is stopped it fails, CANCELLED, and writes nothing.
  bool one_of_many = false;
  // Was told what simulation.handover says, and else nothing; null: a new one.
  Engine* engine = nullptr;
  WorldListener* listener = nullptr;  // hears of all jobs
};

struct SimulateResult {
  Summary summary;
  Curve curve;
};

// A run that is stopped is no failure: its Summary says so.
//
// Writes the files that were asked for (tasks.csv, jobs.csv, timeline.csv, queues.csv, curve.csv,
// summary.json); where it fails,
// none of them. The journal alone is written as the run goes, so that it shows how a run died.
absl::StatusOr<SimulateResult> RunSimulation(const SimulateOptions& options);
absl::StatusOr<SimulateResult> RunSimulation(Simulation simulation, const RunOptions& options);

}  // namespace tephra
