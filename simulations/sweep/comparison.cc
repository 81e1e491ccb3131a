#include "simulations/sweep/comparison.h"

#include <algorithm>
#include <utility>

namespace tephra {

std::vector<ComparisonRow> Compare(const Sweep& sweep,
                                   const std::vector<std::optional<SweepOutcome::Figures>>& runs) {
  // RunsOf has seeds outermost, then loads.
  const auto figure = [&](const ComparisonRow& row, std::size_t policy,
                          std::size_t seed) -> std::optional<double> {
    const std::size_t place =
        (seed * sweep.loads.size() + row.load) * sweep.policies.size() + policy;
    return runs[place] ? (*runs[place])[row.metric] : std::nullopt;
  };
  std::vector<ComparisonRow> rows;
  for (std::size_t metric = 0; metric < sweep.metrics.size(); ++metric) {
    const bool known = std::any_of(runs.begin(), runs.end(), [&](const auto& run) {
      return run && (*run)[metric].has_value();
    });
    if (!known) continue;
    for (std::size_t load = 0; load < sweep.loads.size(); ++load) {
      for (std::size_t policy = 0; policy < sweep.policies.size(); ++policy) {
        ComparisonRow row{load, metric, policy, {}, std::nullopt, std::nullopt};
        std::vector<double> values, differences;
        for (std::size_t seed = 0; seed < sweep.seeds.size(); ++seed) {
          const std::optional<double> own = figure(row, policy, seed);
          const std::optional<double> base = figure(row, sweep.baseline, seed);
          row.by_seed.push_back(own);
          if (own) values.push_back(*own);
          if (own && base) differences.push_back(*own - *base);
        }
        row.value = IntervalOf(values);
        if (policy != sweep.baseline) row.difference = IntervalOf(differences);
        rows.push_back(std::move(row));
      }
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ComparisonRow& a, const ComparisonRow& b) { return a.load < b.load; });
  return rows;
}

}  // namespace tephra
