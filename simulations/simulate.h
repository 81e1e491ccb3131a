// RunSimulation: one simulation file from its first line to its last output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "simulations/report/curve.h"
#include "simulations/report/summary.h"
#include "topology/base/status.h"

namespace tephra {

struct SimulateOptions {
  std::string path;
  std::optional<std::string> directory;  // instead of the file's outputs.directory
  std::optional<std::uint64_t> seed;     // instead of the file's policies.seed
  std::string journal;                   // empty: none is written
};

struct SimulateResult {
  Summary summary;
  Curve curve;
};

// Writes the files that were asked for (tasks.csv, curve.csv, summary.json); where it fails,
// none of them. The journal alone is written as the run goes, so that it shows how a run died.
absl::StatusOr<SimulateResult> RunSimulation(const SimulateOptions& options);

}  // namespace tephra
