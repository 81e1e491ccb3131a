// Reads tasks.csv of a run as bars of GPU use, and reads amounts in CSV files.
#pragma once

#include <optional>

#include "simulations/report/run_files.h"
#include "simulations/traces/csv.h"

namespace tephra {

// Fills in nodes and bars. REQUIRES: the summary and the jobs are read.
absl::Status ReadTasks(RunFiles& run);

// A number of at least 0; and the same, or none for an empty field.
absl::StatusOr<double> CsvAmount(const CsvReader& csv, std::size_t column);
absl::StatusOr<std::optional<double>> CsvAmountIfAny(const CsvReader& csv, std::size_t column);

}  // namespace tephra
