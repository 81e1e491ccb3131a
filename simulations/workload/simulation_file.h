// LoadSimulation: reads and checks the YAML file of a simulation (docs/simulate.md), so that what
// it returns is accepted by the engine.
//
// Scenarios are such files with a few keys more: name them in `extra_keys` and read them from
// Simulation::document with Fields.
#pragma once

#include <string>
#include <vector>

#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

// Every error names file, line, field, value and what was expected.
absl::StatusOr<Simulation> LoadSimulation(const std::string& path,
                                          const std::vector<std::string>& extra_keys = {});

// The same from text; `path` stands in messages, and relative paths start in its folder.
absl::StatusOr<Simulation> ParseSimulation(const std::string& path, const std::string& text,
                                           const std::vector<std::string>& extra_keys = {});

}  // namespace tephra
