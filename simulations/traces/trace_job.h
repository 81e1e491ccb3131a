// TraceJob: one job of a trace, independent of the format of the file.
//
// A missing amount is kNotKnown and a missing name is empty. A run time of 0 is not missing: the
// job ran for less than the resolution of the trace.
#pragma once

#include <cstdint>
#include <string>

#include "topology/base/time.h"

namespace tephra {

constexpr std::int64_t kNotKnown = -1;

enum class TraceStatus { kNotKnown, kCompleted, kFailed, kCancelled };

struct TraceJob {
  std::string id;  // as in the file; may not be unique
  int line = 0;    // from 1
  std::string user, group, queue;
  std::string executable;  // the program
  std::string partition;  // the partition of the machine; empty: any

  TimeMs submit = 0;  // since the trace's own time 0
  DurationMs run = kNotKnown;
  DurationMs requested = kNotKnown;  // the estimate or limit of the user

  // The number of tasks, which start together. A task is a processor (SWF), a node (Alea) or a GPU
  // (Philly, Muri, Tiresias); the workload decides how many of them share a node.
  std::int64_t tasks = 0;
  // Of each task.
  std::int64_t cpus = 0;
  std::int64_t gpus = 0;
  std::int64_t memory_kib = kNotKnown;

  TraceStatus status = TraceStatus::kNotKnown;
};

}  // namespace tephra
