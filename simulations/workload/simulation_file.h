// LoadSimulation: reads and checks the YAML file of a simulation (docs/simulate.md), so that what
// it returns is accepted by the engine.
//
// Scenarios are such files with a few keys more: name them in `extra_keys` and read them from
// Simulation::document with Fields.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

// What a caller says about workload.trace instead of the file.
struct TraceChoice {
  std::optional<std::string> path;
  bool strict = false;
};

// Every error names file, line, field, value and what was expected.
absl::StatusOr<Simulation> LoadSimulation(const std::string& path,
                                          const std::vector<std::string>& extra_keys = {},
                                          TraceChoice trace = {});

// The same from a document that was read; `path` stands in messages, and relative paths start in
// its folder.
absl::StatusOr<Simulation> LoadSimulation(const std::string& path, Yaml::Ptr document);

// The same from text; `path` stands in messages, and relative paths start in its folder.
absl::StatusOr<Simulation> ParseSimulation(const std::string& path, const std::string& text,
                                           const std::vector<std::string>& extra_keys = {});

}  // namespace tephra
