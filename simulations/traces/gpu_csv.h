// Timed traces of GPU jobs as CSV files: Philly by virtual cluster, Tiresias and Muri.
//
// Philly (derived from msr-fiddle/philly-traces, CC-BY-4.0): id, vc, gpu, submit, dur; seconds. The
// virtual cluster is the queue.
// Tiresias (SymbioticLab/Tiresias) and Muri (Rivendile/Muri), both Apache-2.0: job_id, num_gpu,
// submit_time, duration, beside what trains; seconds in Tiresias, milliseconds in Muri, whose
// header also has resource_time_0.
//
// A task is a GPU. None of them says users, what was requested, or how a job ended.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulations/traces/trace_parser.h"
#include "topology/base/status.h"

namespace tephra {

struct GpuCsvColumns {
  std::string id, gpus, submit, run;
  std::string queue;  // empty: there is none
  DurationMs unit_ms = kSecondMs;
};

const GpuCsvColumns& PhillyColumns();
const GpuCsvColumns& TiresiasColumns();
const GpuCsvColumns& MuriColumns();

// `header`: the first row; columns may be in any order; other columns are ignored. INVALID_ARGUMENT
// with file and line where one is not there, or there twice.
absl::StatusOr<std::unique_ptr<TraceParser>> MakeGpuCsvParser(const GpuCsvColumns& columns,
                                                              const std::string& path, int line,
                                                              std::string_view header);

// The columns of a header row.
std::vector<std::string> HeaderColumns(std::string_view header);

}  // namespace tephra
