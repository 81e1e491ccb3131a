// Sweep: all runs that one YAML file (docs/sweep.md) asks for: a simulation under each policy, at
// each load, by each seed.
//
// Plain values, immutable once read; any thread may read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulations/sweep/metrics.h"
#include "text/yaml_tree.h"
#include "topology/base/status.h"

namespace tephra {

struct Sweep {
  struct Policy {
    std::string name;
    Yaml::Ptr document;  // the simulation file under it, before load and seed
  };
  std::string name;        // a title; may be empty
  std::string simulation;  // the path of the file that is varied
  std::vector<Policy> policies;
  std::size_t baseline = 0;          // of policies: what the others are told against
  std::vector<std::int64_t> loads;   // in thousandths
  std::vector<std::uint64_t> seeds;  // runs of one seed are paired
  std::vector<Metric> metrics;
  std::string source;  // what of `workload` a load is said to: "trace", "generate"; empty: nothing
  bool has_failures = false;
};

// Places in the lists of a Sweep.
struct SweepRun {
  std::size_t policy = 0, load = 0, seed = 0;
};

struct SweepChoice {
  std::optional<std::string> trace;  // instead of workload.trace.file of the simulation
  bool files = false;                // all that the simulation writes, not its summary alone
};

// Every error names file, line, field, value and what was expected. The simulation and each policy
// are read as a run would read them, so that what is wrong there shows before anything runs.
absl::StatusOr<Sweep> LoadSweep(const std::string& path, const SweepChoice& choice);

// Seed by seed, then load by load.
std::vector<SweepRun> RunsOf(const Sweep& sweep);
std::string LoadText(const Sweep& sweep, std::size_t load);
// "easy/0.8/3": its folder.
std::string NameOf(const Sweep& sweep, const SweepRun& run);
// Its simulation file.
Yaml::Ptr DocumentOf(const Sweep& sweep, const SweepRun& run);

}  // namespace tephra
