// Metric: one value of a run that is compared, and how to read it from summary.json.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tephra {

struct Metric {
  std::string name;   // the name in files: "mean_wait_s"
  std::string title;  // the title in tables, with the unit
  int decimals = 0;
  // None if the run has no value, for example if no job started. A malformed summary throws an
  // exception of nlohmann::json.
  std::function<std::optional<double>(const nlohmann::ordered_json& summary)> read;
};

// All metrics, in the order of the table.
const std::vector<Metric>& Metrics();
// For the jobs of one queue: the mean and the 95th percentile of the wait.
std::vector<Metric> MetricsOfQueue(const std::string& queue);

}  // namespace tephra
