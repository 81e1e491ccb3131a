// Handover: what a World takes over that goes on from somewhere, instead of beginning with nothing:
// jobs that came before, and tasks that run.
//
// The engine was told all of it. Times are the World's, those of what happened before it too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/framework/event.h"
#include "simulations/arrivals.h"
#include "topology/device.h"

namespace tephra {

struct HandedTask {
  std::string role;
  std::int32_t index = 0;
  std::string pod;  // its uid; empty: the engine knows of none
  // kPending, kAssumed (the last plan placed it), kRunning, kReleasing or kSucceeded: it is over.
  TaskPhase phase = TaskPhase::kPending;
  bool to_go = false;  // kRunning: the last plan evicts it
  std::string node;    // from kAssumed on
  Slices slices;
  TimeMs start = -1;              // since when it runs
  TimeMs leaves = -1;             // kReleasing: when it is gone
  DurationMs done = 0;            // of its run time, saved by attempts before
  std::int32_t attempts = 0;      // how often it was started
  std::uint64_t turn = 0;         // of two that end at one instant the lower one is first
  std::optional<DurationMs> run;  // its own run time, where that is not its job's
};

struct HandedJob {
  Arrival came;       // `at`: when it did
  TimeMs start = -1;  // when its gang first started
  // `came.job` is not what the engine was told last.
  bool tell = false;
  // Those that the job has; others wait.
  std::vector<HandedTask> tasks;
};

struct Handover {
  TimeMs at = 0;
  bool due = false;             // a cycle is due then, whatever else happens
  std::uint64_t version = 0;    // the highest of any fact so far
  std::vector<HandedJob> jobs;  // in the order in which they came
};

}  // namespace tephra
