// Summary: the results of a simulation as plain values, for the printers (text, JSON).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan.h"
#include "simulations/traces/trace_fault.h"
#include "simulations/workload/simulation.h"
#include "topology/base/time.h"

namespace tephra {

enum class JobState : std::uint8_t {
  kRunning,     // its minimum runs
  kFinished,    // all of its tasks ended
  kWaiting,     // not started, or a lost task is missing
  kInfeasible,  // cannot start unless the cluster changes
  kDropped,     // removed because it could not start at its submission
  kRemoved,     // removed by an event
};
const char* JobStateText(JobState state);
const char* VerdictText(Verdict verdict);

// The estimated all-reduce bandwidth of a job (topology/all_reduce.h).
struct AllReduceLine {
  std::int64_t mbit_per_s = 0;
  std::string slowest;  // "in a node", "out of rack-0"
};

struct JobLine {
  std::string name, queue;
  std::string shape;  // "4 x 8 GPU"
  JobState state = JobState::kWaiting;
  TimeMs arrival = 0;
  TimeMs start = -1;  // -1: has not started
  TimeMs end = -1;
  std::int32_t tasks = 0, running = 0, finished = 0;
  std::string where;                        // nodes, "rack-a-0 x8, rack-a-1 x8"
  std::string why;                          // the reason, if a task of it is pending
  std::optional<AllReduceLine> all_reduce;  // set if bandwidths are given and its GPUs are whole
};

struct ResourceLine {
  std::string name;
  std::int64_t unit = 1;  // divisor for display: cores, GiB, GPUs ...
  std::string unit_name;
  std::int64_t capacity = 0, used = 0, peak = 0;
  double mean_percent = 0;                  // of capacity, over the time of the simulation
  double mean_percent_while_jobs_come = 0;  // the same, until the last submission
};

struct QueueLine {
  std::string name, parent;
  std::int64_t gpu_used = 0;  // per mille of a GPU, with child queues
  std::optional<std::int64_t> gpu_limit;
  std::int64_t arrived = 0, running = 0, waiting = 0, ended = 0;
  double mean_wait_s = 0;  // of started jobs
};

struct NodeLine {
  std::string name, model;
  bool unschedulable = false;
  std::vector<std::int32_t> gpu_used;  // per mille, by device; -1: unhealthy
  std::int64_t cpu_used = 0, cpu = 0;  // milli-cores
};

constexpr std::size_t kMostMovesLines = 1000;

// Statistics of seconds or slowdowns; all 0 if there are no values.
struct AmountsLine {
  std::int64_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, most = 0;
};

// The jobs of a queue, or all jobs: ended and current.
struct GroupLine {
  std::string name;
  std::int64_t jobs = 0, finished = 0, evictions = 0, failures = 0, restarts = 0;
  double gpu_hours = 0;       // of finished jobs, without repeated work
  double lost_gpu_hours = 0;  // work that was done and not saved
  AmountsLine wait_s;         // of started jobs, from submission
  AmountsLine jct_s;          // of finished jobs, like the next fields
  AmountsLine bounded_slowdown;
};

// How the first start intervals of jobs compare with their starts.
struct IntervalsLine {
  std::int64_t judged = 0, inside = 0, early = 0, late = 0;  // `early`: started before the interval
  std::int64_t at_once = 0;     // started in the cycle of their arrival: they need no interval
  std::int64_t none = 0;        // waited and had no interval
  double mean_width_s = 0, median_width_s = 0;  // of the judged

  double InsidePercent() const {
    return judged == 0 ? 0 : 100 * static_cast<double>(inside) / static_cast<double>(judged);
  }
};

struct LargeLine {
  LargeGangs least;
  GroupLine jobs;
};

struct UserLine {
  std::string name;
  std::int64_t jobs = 0, finished = 0;
  double gpu_hours = 0, mean_wait_s = 0, mean_bounded_slowdown = 0;
};

// Jain's fairness index: 1 if all values are equal, 1/n if one of n has everything, 0 without
// values.
struct Fairness {
  double queues = 0;  // of the GPU hours of each queue, relative to its fair share
  double users = 0;   // of the mean bounded slowdown of each user's jobs
};

// The migrations for one gang.
struct MovesLine {
  std::string job;
  TimeMs at = 0;
  bool proposed = false;  // not executed: the last proposal for the job
  std::int64_t tasks = 0, jobs = 0, gain_gpu_s = 0, cost_gpu_s = 0;
  std::vector<std::string> moves;  // "batch/worker/0: n-1 to n-0"
};

// The reading of a trace.
struct TraceLine {
  std::string path;
  TraceReading reading;
};

struct Summary {
  std::string name, file;
  bool interrupted = false;        // stopped early: the results until then
  std::optional<TraceLine> trace;  // the source of the jobs
  TimeMs end = 0;
  std::int64_t events = 0, cycles = 0;  // cycles with a decision
  std::int64_t arrived = 0, started = 0, finished = 0, running = 0, waiting = 0, infeasible = 0,
               dropped = 0, removed = 0;
  std::int64_t tasks_started = 0, tasks_finished = 0, tasks_running = 0, dropped_decisions = 0;
  GroupLine all;
  std::optional<LargeLine> large;   // if it was requested
  IntervalsLine intervals;
  std::vector<GroupLine> by_queue;  // by name; only queues with jobs
  std::vector<UserLine> by_user;    // by name
  Fairness fairness;
  std::vector<ResourceLine> resources;
  double fragment_percent = 0, fragment_of_idle_percent = 0;
  std::vector<QueueLine> queues;
  std::vector<NodeLine> nodes;
  std::vector<MovesLine> moves;    // by time, at most kMostMovesLines
  std::vector<JobLine> jobs;       // pending and running jobs, then ended jobs
  std::int64_t jobs_left_out = 0;  // jobs without a line here; tasks.csv has them
};

}  // namespace tephra
