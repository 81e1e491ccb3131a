// Continuation: the simulation that continues a recorded history from its cut: the current and
// later jobs, the events, and the run time of each task.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/state.h"
#include "simulations/whatif/history.h"
#include "simulations/workload/simulation.h"

namespace tephra {

// The sources of run times. Recorded: a task of the job ended in the journal. Expected: the
// estimate of the job. Predicted: from earlier jobs. Otherwise the default of the caller, or
// endless.
struct RunTimes {
  std::int64_t recorded = 0, expected = 0, predicted = 0, assumed = 0, unknown = 0;
};

struct ContinueOptions {
  std::optional<DurationMs> default_runtime;  // of jobs without another source; none: endless
  std::optional<DurationMs> until;            // the end, relative to the cut
  std::optional<DurationMs> grace;            // of evictions; none: as recorded, or 30 s
  std::optional<DurationMs> checkpoints;      // as of Restarts
};

constexpr DurationMs kUsualGraceMs = 30 * kSecondMs;  // the default of Kubernetes

struct Continuation {
  Simulation simulation;  // with nodes, queues, jobs and events
  RunTimes runs;
};

// `state` belongs to an engine that knows the history up to the cut.
Continuation Continue(const History& history, const State& state, const ContinueOptions& options);

}  // namespace tephra
