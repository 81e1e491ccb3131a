// Scenario: a simulation file (docs/reference/simulate.md) that says beside it what must come of
// it.
//
//   expect:
//     - { at: 1s, job: small, verdict: start, nodes: 1 }
//
// An expectation is judged when all that happens up to and at its time has happened, by what was
// last said of the job and where its tasks then are. README.md has the keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan.h"
#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

struct Expectation {
  int line = 0;
  TimeMs at = 0;
  std::string job;
  Part part = Part::kMinimum;
  std::string role;  // empty: all roles
  std::optional<Verdict> verdict;
  std::optional<Obstacle> reason;
  std::vector<std::string> text;               // each a part of the reason's text
  std::optional<std::int64_t> nodes;           // different nodes under the running tasks
  std::optional<std::int64_t> tasks_placed;    // tasks that hold room
  std::optional<std::int64_t> tasks_reserved;  // of these, on room that victims have yet to leave
  std::optional<std::int64_t> evictions;       // of its tasks, since the beginning
  std::optional<std::vector<std::string>> placed_on;  // their nodes, each once, sorted
  std::optional<std::vector<std::string>> devices;    // "node/device", each once, sorted
};

struct Scenario {
  Simulation simulation;
  std::vector<Expectation> expectations;
};

// Refuses what LoadSimulation refuses, and a scenario without name, why or expectations.
absl::StatusOr<Scenario> LoadScenario(const std::string& path);
absl::StatusOr<Scenario> ParseScenario(const std::string& path, const std::string& text);

// Lives through it. A line for each expectation that failed: file, line, what was expected, what
// was seen. `forget` drops all that is derived before each cycle, which must change nothing.
std::vector<std::string> RunScenario(Scenario scenario, bool forget);

}  // namespace tephra
