// Metric: one figure of a run that is compared, and where summary.json has it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tephra {

struct Metric {
  std::string name;   // in files: "mean_wait_s"
  std::string title;  // for people, with the unit
  int decimals = 0;
  // Nothing where the run has none: no job started, nobody asked for large gangs. A summary that
  // is none throws nlohmann's exceptions.
  std::function<std::optional<double>(const nlohmann::ordered_json& summary)> read;
};

// All there are, in the order of the table.
const std::vector<Metric>& Metrics();
// Of the jobs of one queue: mean wait, and what 95 % wait at most.
std::vector<Metric> MetricsOfQueue(const std::string& queue);

}  // namespace tephra
