// Comparison: what the runs of a sweep come to: of each load, metric and policy the mean over
// seeds, and how it differs from the baseline, seed by seed.
//
// Differences are paired: runs of one seed have the same jobs, so that what differs between seeds
// falls out. Pure values; equal figures give equal bytes.
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
  std::size_t load = 0, metric = 0, policy = 0;  // places in the lists of the Sweep
  std::vector<std::optional<double>> by_seed;    // none: the run failed, or has no such figure
  std::optional<Interval> value;                 // over the seeds that have it
  std::optional<Interval> difference;            // less the baseline's; none of the baseline
};

// By load, metric and policy; a metric that no run has is left out. `runs` as RunsOf.
std::vector<ComparisonRow> Compare(const Sweep& sweep,
                                   const std::vector<std::optional<SweepOutcome::Figures>>& runs);

// For a terminal, as JSON (docs/sweep.md), as CSV with a row each.
void PrintComparison(const Sweep& sweep, const std::vector<ComparisonRow>& rows, std::ostream& out);
std::string ComparisonJson(const Sweep& sweep, const std::vector<ComparisonRow>& rows);
std::string ComparisonCsv(const Sweep& sweep, const std::vector<ComparisonRow>& rows);

}  // namespace tephra
