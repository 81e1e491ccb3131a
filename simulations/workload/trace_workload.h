// TraceWorkload: turns the jobs of a trace (simulations/traces/trace_reader.h) or of a job model
// (simulations/traces/job_model.h) into gangs, and the machine of the trace into a cluster.
//
// Jobs are read one by one, in constant memory. docs/reference/simulate.md describes the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulations/arrivals.h"
#include "simulations/traces/job_model.h"
#include "simulations/traces/pod_shapes.h"
#include "simulations/traces/trace_reader.h"
#include "topology/base/status.h"
#include "topology/node.h"

namespace tephra {

// The run-time estimate of a job.
enum class Estimate : std::uint8_t {
  kRequested,  // the requested time; unknown if the trace has none
  kRun,        // the actual run time
};

struct TraceWorkload {
  std::string path;
  TraceOptions options;
  std::optional<JobModel> model;  // replaces the file; a task of its jobs is a GPU
  // The size of a node, which limits the size of a task: GPUs, or processors for SWF. 0: 8 GPUs, or
  // the processors that the header of the SWF trace gives a node.
  std::int64_t node_size = 0;
  Estimate estimate = Estimate::kRequested;
  bool clamp_to_requested = false;  // limit run times to the requested time
  DurationMs min_runtime = 0;       // lower limit of run times
  std::int64_t load = 1000;         // in thousandths: submission times are divided by it
  static constexpr std::int64_t kMostLoad = 1'000'000;
  // A job runs only on nodes whose label of this name is its partition. Empty: on any node.
  std::string partition_label;
  bool fails_whole = false, movable = false, preemptible = true;  // Arrival, JobSpec
};

// Jobs larger than `nodes` are faults. Errors are those of TraceReader.
absl::StatusOr<std::unique_ptr<Arrivals>> OpenTrace(TraceWorkload workload,
                                                    const std::vector<NodeSpec>& nodes);

// The nodes of the machine of the trace. INVALID_ARGUMENT if the trace does not describe it.
absl::StatusOr<std::vector<NodeSpec>> NodesOfTrace(const TraceWorkload& workload);

// The typical pods of the first jobs. Empty if the file is not regular, because it can be read
// once.
absl::StatusOr<PodShapes> ShapesOfTrace(const TraceWorkload& workload,
                                        const std::vector<NodeSpec>& nodes);

}  // namespace tephra
