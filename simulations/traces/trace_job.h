// TraceJob: one job of a timed trace, whatever the form of its file.
//
// What a file does not say is kNotKnown (amounts) or empty (names), which is not 0: a job that ran
// for less than the trace can tell has a run time of 0.
#pragma once

#include <cstdint>
#include <string>

#include "topology/base/time.h"

namespace tephra {

constexpr std::int64_t kNotKnown = -1;

enum class TraceStatus { kNotKnown, kCompleted, kFailed, kCancelled };

struct TraceJob {
  std::string id;  // as in the file, which may give one twice
  int line = 0;    // from 1
  std::string user, group, queue;
  std::string partition;  // the part of the machine that it is for; empty: any

  TimeMs submit = 0;  // since the trace's own time 0
  DurationMs run = kNotKnown;
  DurationMs requested = kNotKnown;  // the user's own estimate or limit

  // So many tasks that start together; how many share a node is for whoever places them. A task is
  // a processor (SWF), a node (Alea) or a GPU (Philly, Muri, Tiresias).
  std::int64_t tasks = 0;
  // Of each task.
  std::int64_t cpus = 0;
  std::int64_t gpus = 0;
  std::int64_t memory_kib = kNotKnown;

  TraceStatus status = TraceStatus::kNotKnown;
};

}  // namespace tephra
