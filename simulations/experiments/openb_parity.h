// OpenbParity: runs the openb experiment for workloads, policies and seeds and compares each
// allocation curve with the published one at every whole percent.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

struct OpenbParityOptions {
  std::string nodes;  // CSV
  // CSVs "<workload>.csv"; the published curves are looked up by that name.
  std::vector<std::string> pods;
  std::string orders;     // folder of "<short workload>_<seed>.txt"
  std::string published;  // CSV of curves; empty: there is nothing to compare with
  std::vector<std::uint64_t> seeds;
  std::vector<std::string> policies;  // published names, or scores; empty: all published
  double tolerance = 0.005;           // percentage points
  double random_tolerance = 0.5;      // of the mean of policy Random over the seeds
  bool learn_pods = false;            // scores learn the distribution of pods during the run
  std::string expected;               // the pod list that scores expect; empty: that of the run
  bool json = false;
  std::string curves;  // a CSV to write with the curves of this run; empty: none
};

struct OpenbParityTotals {
  int curves = 0, matched = 0;                // of the deterministic policies
  int random_curves = 0, random_matched = 0;  // workloads
};

// Prints a line for each curve. A bad file is an error; a curve that differs is not (see the
// totals).
absl::StatusOr<OpenbParityTotals> RunOpenbParity(const OpenbParityOptions& options,
                                                 std::ostream& out);

}  // namespace tephra
