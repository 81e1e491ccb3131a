// TraceMachine: the size of the machine of a trace, to find jobs that can never fit.
#pragma once

#include <string>
#include <vector>

#include "simulations/traces/trace_job.h"

namespace tephra {

// A partition. A job runs within one partition.
struct MachinePart {
  std::string name;                // the name that jobs request; empty: for all jobs
  std::int64_t tasks = kNotKnown;  // nodes, if a task is a node; kNotKnown: no limit
  std::int64_t cpus = kNotKnown;
  std::int64_t gpus = kNotKnown;
};

// Without parts the machine is unknown, and every job fits.
struct TraceMachine {
  std::vector<MachinePart> parts;

  std::int64_t Cpus() const;
  std::int64_t Gpus() const;
};

// The limits of the part as text: "101 CPUs", "5 nodes, 5 CPUs, 20 GPUs".
std::string AskedText(const MachinePart& part, const TraceJob& job);
std::string LimitText(const MachinePart& part);

enum class MachineFit { kFits, kTooLarge, kUnknownPartition };

// Compares the request of the job with the total of each part of its partition. `nearest`: a part
// where it fits, else the largest one; null if there is no part of its partition.
MachineFit FitOn(const TraceMachine& machine, const TraceJob& job, const MachinePart*& nearest);

}  // namespace tephra
