// Changes: what a what-if asks about, in the words of a simulation's events, and the simulation
// that has them from its beginning on.
#pragma once

#include <string>
#include <vector>

#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

// The source of one that stands on the command line.
inline constexpr char kChangeArgument[] = "--change";

// YAML: one change, or a list of them.
struct ChangeText {
  std::string source;  // what messages call it
  std::string text;
};

// A field that a change does not give stays as it is, in what the journal tells later too: what a
// change says is not unsaid by what was recorded without it. `as_is` has a handover. Errors name
// source, line, field, value and what was expected.
absl::StatusOr<Simulation> WithChanges(const Simulation& as_is,
                                       const std::vector<ChangeText>& changes);

}  // namespace tephra
