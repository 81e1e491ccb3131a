// TraceMachine: how much there is for the jobs of a trace, to tell those that can never fit.
#pragma once

#include <string>
#include <vector>

#include "simulations/traces/trace_job.h"

namespace tephra {

// A part that one job cannot leave.
struct MachinePart {
  std::string name;                // that jobs may ask for; empty: it serves every partition
  std::int64_t tasks = kNotKnown;  // nodes, where a task is one; kNotKnown: no bound
  std::int64_t cpus = kNotKnown;
  std::int64_t gpus = kNotKnown;
};

// No parts: nothing was told, and everything fits.
struct TraceMachine {
  std::vector<MachinePart> parts;

  std::int64_t Cpus() const;
  std::int64_t Gpus() const;
};

// For people, of what the part bounds: "101 CPUs", "5 nodes, 5 CPUs, 20 GPUs".
std::string AskedText(const MachinePart& part, const TraceJob& job);
std::string LimitText(const MachinePart& part);

enum class MachineFit { kFits, kTooLarge, kUnknownPartition };

// By counts alone: what it asks for, against all that a part of its partition has. `nearest`: where
// it fits, else the largest such part; null without parts or where none is of its partition.
MachineFit FitOn(const TraceMachine& machine, const TraceJob& job, const MachinePart*& nearest);

}  // namespace tephra
