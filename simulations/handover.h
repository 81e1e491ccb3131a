// Handover: the jobs and running tasks with which a World continues an earlier run, instead of
// starting with an empty cluster.
//
// The engine already knows all of it. Times are on the World's clock; earlier times are negative.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.h"
#include "simulations/arrivals.h"
#include "topology/device.h"

namespace tephra {

struct HandedTask {
  std::string role;
  std::int32_t index = 0;
  std::string pod;  // its uid; empty: the engine knows no pod
  // kPending, kAssumed (placed by the last plan), kRunning, kReleasing or kSucceeded (ended).
  TaskPhase phase = TaskPhase::kPending;
  bool to_go = false;  // kRunning: the last plan evicts the task
  std::string node;    // set from kAssumed on
  Slices slices;
  TimeMs start = -1;              // when it started to run
  TimeMs leaves = -1;             // kReleasing: when the task is gone
  DurationMs done = 0;            // work saved by earlier attempts
  std::int32_t attempts = 0;      // number of starts
  std::uint64_t turn = 0;         // order of tasks that end at the same time, lowest first
  std::optional<DurationMs> run;  // set if it differs from the run time of the job
};

struct HandedJob {
  Arrival came;       // `at`: the submission time
  TimeMs start = -1;  // when its gang first started
  // The engine knows another version of the job than `came.job`.
  bool tell = false;
  // Tasks in any state but pending.
  std::vector<HandedTask> tasks;
};

struct Handover {
  TimeMs at = 0;
  bool due = false;             // a scheduling cycle is due at time 0
  std::uint64_t version = 0;    // the highest version of any fact so far
  std::vector<HandedJob> jobs;  // in the order of submission
};

}  // namespace tephra
