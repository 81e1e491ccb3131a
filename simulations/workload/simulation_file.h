// LoadSimulation: reads and validates a simulation file (docs/reference/simulate.md). The engine
// accepts the result.
//
// A scenario is such a file with additional keys. Name them in `extra_keys`, and read them from
// Simulation::document with Fields.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

// Overrides of workload.trace by the caller.
struct TraceChoice {
  std::optional<std::string> path;
  bool strict = false;
};

// Every error names file, line, field, value and what was expected.
absl::StatusOr<Simulation> LoadSimulation(const std::string& path,
                                          const std::vector<std::string>& extra_keys = {},
                                          TraceChoice trace = {});

// The same from a parsed document. `path` is used in messages and for relative paths.
absl::StatusOr<Simulation> LoadSimulation(const std::string& path, Yaml::Ptr document);

// The same from text. `path` is used in messages and for relative paths.
absl::StatusOr<Simulation> ParseSimulation(const std::string& path, const std::string& text,
                                           const std::vector<std::string>& extra_keys = {});

}  // namespace tephra
