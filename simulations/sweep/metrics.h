// Metric: one figure of a run that is compared, and where summary.json has it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tephra {

struct Metric {
  const char* name;   // in files: "mean_wait_s"
  const char* title;  // for people, with the unit
  int decimals;
  // Nothing where the run has none: no job started, nobody asked for large gangs. A summary that
  // is none throws nlohmann's exceptions.
  std::optional<double> (*read)(const nlohmann::ordered_json& summary);
};

// All there are, in the order of the table.
const std::vector<Metric>& Metrics();

}  // namespace tephra
