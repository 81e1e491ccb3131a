// Sweep: the runs of one sweep file (docs/reference/sweep.md): a simulation with each policy, at
// each load, with each seed.
//
// Plain values that do not change after loading. Any thread may read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/yaml_tree.h"
#include "simulations/sweep/metrics.h"
#include "topology/base/status.h"

namespace tephra {

struct Sweep {
  struct Policy {
    std::string name;
    Yaml::Ptr document;  // the simulation with this policy, before load and seed are set
  };
  std::string name;        // a title; may be empty
  std::string simulation;  // the path of the simulation file
  std::vector<Policy> policies;
  std::size_t baseline = 0;         // index of the policy that the other policies are compared with
  std::vector<std::int64_t> loads;  // in thousandths
  std::vector<std::uint64_t> seeds;  // runs of one seed are paired
  std::vector<Metric> metrics;
  std::string source;  // the part of `workload` with the load: "trace", "generate"; empty: none
  bool has_failures = false;
};

// Indexes in the lists of a Sweep.
struct SweepRun {
  std::size_t policy = 0, load = 0, seed = 0;
};

struct SweepChoice {
  std::optional<std::string> trace;  // replaces workload.trace.file of the simulation
  bool files = false;                // write all output files, not only the summary
};

// Every error names file, line, field, value and what was expected. The simulation and each policy
// are validated before any run starts.
absl::StatusOr<Sweep> LoadSweep(const std::string& path, const SweepChoice& choice);

// Seed by seed, then load by load.
std::vector<SweepRun> RunsOf(const Sweep& sweep);
std::string LoadText(const Sweep& sweep, std::size_t load);
// "easy/0.8/3": its folder.
std::string NameOf(const Sweep& sweep, const SweepRun& run);
// The simulation document of the run.
Yaml::Ptr DocumentOf(const Sweep& sweep, const SweepRun& run);

}  // namespace tephra
