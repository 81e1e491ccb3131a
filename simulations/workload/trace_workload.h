// TraceWorkload: how the jobs of a timed trace (simulations/traces/trace_reader.h), or of a model
// of one (simulations/traces/job_model.h), become gangs, and the cluster that the trace's machine
// is.
//
// Jobs are read one by one, in constant memory. What a job becomes is told in docs/simulate.md.
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

// What is expected of a job's run time, for orders and plans that ask.
enum class Estimate : std::uint8_t {
  kRequested,  // what its user requested; not known where the trace does not say
  kRun,        // how long it runs, as if that were known
};

struct TraceWorkload {
  std::string path;
  TraceOptions options;
  std::optional<JobModel> model;  // instead of a file; its jobs' tasks are GPUs
  // GPUs, or processors of SWF, of one task at most: those of a node. 0: 8 GPUs, 1 processor.
  std::int64_t per_node = 0;
  Estimate estimate = Estimate::kRequested;
  bool clamp_runs = false;   // to what was requested: then it is ended
  DurationMs least_run = 0;  // a shorter one counts as this
  std::int64_t load = 1000;  // in thousandths: times of submission are divided by it
  static constexpr std::int64_t kMostLoad = 1'000'000;
  // Jobs select the nodes whose label of this name is their partition. Empty: any.
  std::string partition_label;
  bool fails_whole = false, movable = false, preemptible = true;  // Arrival, JobSpec
};

// Told by `nodes`: nothing larger than they are comes. UNAVAILABLE and the like as TraceReader.
absl::StatusOr<std::unique_ptr<Arrivals>> OpenTrace(TraceWorkload workload,
                                                    const std::vector<NodeSpec>& nodes);

// The nodes of the machine that the trace tells. INVALID_ARGUMENT where it tells none.
absl::StatusOr<std::vector<NodeSpec>> NodesOfTrace(const TraceWorkload& workload);

// The usual pods among the first jobs. None of what is no regular file, which is read but once.
absl::StatusOr<PodShapes> ShapesOfTrace(const TraceWorkload& workload,
                                        const std::vector<NodeSpec>& nodes);

}  // namespace tephra
