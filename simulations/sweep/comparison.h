// Comparison: the results of a sweep. For each load, metric and policy: the mean over the seeds,
// and the difference from the baseline, seed by seed.
//
// Differences are paired: runs of one seed have the same jobs, so the variation between seeds
// cancels out. Pure values; equal figures give equal bytes.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "simulations/sweep/interval.h"
#include "simulations/sweep/run_sweep.h"
#include "simulations/sweep/sweep_file.h"

namespace tephra {

struct ComparisonRow {
  std::size_t load = 0, metric = 0, policy = 0;  // indexes in the lists of the Sweep
  std::vector<std::optional<double>> by_seed;    // none: the run failed or has no such value
  std::optional<Interval> value;                 // over the seeds with a value
  std::optional<Interval> difference;            // minus the baseline; none for the baseline itself
};

// By load, metric and policy, without metrics that no run has. `runs` is in the order of RunsOf.
std::vector<ComparisonRow> Compare(const Sweep& sweep,
                                   const std::vector<std::optional<SweepOutcome::Figures>>& runs);

// As text, as JSON (docs/reference/sweep.md), and as CSV with one line for each row.
void PrintComparison(const Sweep& sweep, const std::vector<ComparisonRow>& rows, std::ostream& out);
std::string ComparisonJson(const Sweep& sweep, const std::vector<ComparisonRow>& rows);
std::string ComparisonCsv(const Sweep& sweep, const std::vector<ComparisonRow>& rows);

}  // namespace tephra
