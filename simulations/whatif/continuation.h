// Continuation: how a recorded history goes on from its cut, as a simulation: who stands, who
// comes, what happens, and how long each task runs.
#pragma once

#include <cstdint>
#include <optional>

#include "plugins/framework/state.h"
#include "simulations/whatif/history.h"
#include "simulations/workload/simulation.h"

namespace tephra {

// How long jobs run. Recorded: some task of it ended in the journal. Expected: as somebody said of
// it. Predicted: by runs before. Else as the caller has it, or for ever.
struct RunTimes {
  std::int64_t recorded = 0, expected = 0, predicted = 0, assumed = 0, unknown = 0;
};

struct ContinueOptions {
  std::optional<DurationMs> assume_run;   // of jobs that are not known otherwise; none: for ever
  std::optional<DurationMs> until;        // after the cut, then it ends
  std::optional<DurationMs> grace;        // of evictions; none: as was seen, else 30 s
  std::optional<DurationMs> checkpoints;  // as of Restarts
};

constexpr DurationMs kUsualGraceMs = 30 * kSecondMs;  // of pods that do not say otherwise

struct Continuation {
  Simulation simulation;  // its nodes and queues, jobs and events
  RunTimes runs;
};

// `state` is that of an engine that was told the history up to its cut.
Continuation Continue(const History& history, const State& state, const ContinueOptions& options);

}  // namespace tephra
