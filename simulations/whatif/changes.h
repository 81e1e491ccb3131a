// Changes: the changes of a what-if, written as events of a simulation, and the simulation that
// applies them at its start.
#pragma once

#include <string>
#include <vector>

#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

// The source name of a change on the command line.
inline constexpr char kChangeArgument[] = "--change";

// YAML: one change, or a list of them.
struct ChangeText {
  std::string source;  // its name in messages
  std::string text;
};

// A change sets only the fields that it has. Later events of the journal do not override these
// fields. `as_is` has a handover. Errors name
// source, line, field, value and what was expected.
absl::StatusOr<Simulation> WithChanges(const Simulation& as_is,
                                       const std::vector<ChangeText>& changes);

}  // namespace tephra
