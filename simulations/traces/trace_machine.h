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

enum class MachineFit { kFits, kTooLarge, kUnknownPartition };

// By counts alone: what it asks for, against all that the largest part of its partition has.
MachineFit FitOn(const TraceMachine& machine, const TraceJob& job);

}  // namespace tephra
