// tasks.csv of a run, read as stretches of GPUs that tasks held; and amounts in its CSV files.
#pragma once

#include <optional>

#include "simulations/report/run_files.h"
#include "simulations/traces/csv.h"

namespace tephra {

// Fills in nodes and bars. REQUIRES: the summary and the jobs are read.
absl::Status ReadTasks(RunFiles& run);

// A number of at least 0, and that or nothing.
absl::StatusOr<double> CsvAmount(const CsvReader& csv, std::size_t column);
absl::StatusOr<std::optional<double>> CsvAmountIfAny(const CsvReader& csv, std::size_t column);

}  // namespace tephra
