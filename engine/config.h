// EngineConfig has all settings that decisions depend on. It arrives as an Event, so that a journal
// replays under the settings of its time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/time.h"

namespace tephra {

struct WeightedName {
  std::string name;
  std::int32_t weight = 1;

  bool operator==(const WeightedName&) const = default;
};

// One shape of pod and how often it is expected, for policies that look ahead.
struct ExpectedPod {
  std::int64_t cpu = 0;  // milli-cores
  std::int32_t devices = 0;
  std::int32_t compute = 0;         // per mille of each device
  std::vector<std::string> models;  // any of these; none given: any
  double share = 0;                 // of all pods, 0 to 1

  bool operator==(const ExpectedPod&) const = default;
};

enum class Ties : std::uint8_t {
  kFirstName,  // the node whose name sorts first
  kRandom,     // one of the best, by the seed and the task's name
};

// The order of jobs of one queue and one priority. Jobs without JobSpec::estimated_runtime_ms come
// last.
enum class JobOrder : std::uint8_t {
  kCreated,           // the oldest job first
  kEstimatedRuntime,  // the shortest job first
  kRemaining,         // the shortest remaining time first, with preemption of longer jobs
  kRemainingWork,     // the same, by remaining time times GPUs
};

// Which pending jobs are tried.
enum class EnqueueGate : std::uint8_t {
  kNone,     // all of them
  kVolcano,  // jobs that Volcano's action enqueue would admit
};

// What jobs that are not preemptible may use of a queue.
enum class NonPreemptibleQuota : std::uint8_t {
  kNone,      // as other jobs
  kDeserved,  // at most what the queue deserves, if other queues may reclaim from it
};

// Placement of gangs that request no locality.
enum class GangLocality : std::uint8_t {
  kNear,  // as near as there is room, where domains are known
  kNone,  // nodes by score alone
};

// A part of each day, in minutes since midnight UTC. A window that ends before it begins goes past
// midnight.
struct DailyWindow {
  std::int32_t begin_min = 0;
  std::int32_t end_min = 0;

  bool operator==(const DailyWindow&) const = default;
};

// config_fields.cc says what each of the settings below means.
struct MoveSettings {
  enum class Mode : std::uint8_t { kOff, kDryRun, kOn };
  Mode mode = Mode::kDryRun;
  std::int32_t moves_per_hour = 20;  // tasks
  std::vector<DailyWindow> windows;
  DurationMs horizon_ms = 60 * 60 * kSecondMs;
  DurationMs restart_cost_ms = 10 * 60 * kSecondMs;
  std::int32_t budget = 20000;
  DurationMs return_timeout_ms = 10 * 60 * kSecondMs;

  bool operator==(const MoveSettings&) const = default;
};

// Which loss of work an eviction for the share of a queue is worth.
struct LossSettings {
  std::int32_t max_loss_percent = 5;
  DurationMs patience_ms = 24 * 3600 * kSecondMs;
  DurationMs quota_patience_ms = 0;
  DurationMs restart_cost_ms = 10 * 60 * kSecondMs;

  bool operator==(const LossSettings&) const = default;
};

// Which jobs have a run time predicted from earlier jobs (RunHistory).
enum class RunPrediction : std::uint8_t {
  kNone,
  kUnstated,  // jobs whose owner states no run time
  kAll,       // all jobs; what the owner states is the most
};

// Reservations for pending jobs (docs/explanation/backfill.md).
struct ReservationSettings {
  enum class Mode : std::uint8_t {
    kNone,   // no reservations: any job that fits starts
    kFirst,  // for the first `count` pending jobs
    kAll,    // for all pending jobs
  };
  // The order in which jobs without a reservation are tried.
  enum class Order : std::uint8_t {
    kTurn,           // queue order
    kShortestFirst,  // the shortest run-time estimate first, then queue order
  };
  Mode mode = Mode::kFirst;
  Order order = Order::kTurn;
  std::int32_t count = 1;
  bool per_queue = false;
  RunPrediction predict = RunPrediction::kUnstated;

  bool operator==(const ReservationSettings&) const = default;
};

struct EngineConfig {
  std::vector<WeightedName> node_scores = {{"stranding", 1000}, {"links", 10}, {"binpack", 1}};
  std::vector<WeightedName> device_scores = {{"stranding", 1000}, {"binpack", 1}};
  Ties ties = Ties::kFirstName;
  std::uint64_t seed = 0;
  std::vector<ExpectedPod> expected_pods;  // most frequent first; see also RecentPods
  std::int32_t search_budget = 20000;
  std::vector<WeightedName> victim_costs = {
      {"queue-priority", 16}, {"priority", 8}, {"share", 4}, {"lost-work", 2}, {"restarts", 1}};
  std::int32_t eviction_budget = 20000;
  LossSettings lost_work;
  MoveSettings moves;
  ReservationSettings reservations;
  bool evict_from_unhealthy = false;
  NonPreemptibleQuota non_preemptible_quota = NonPreemptibleQuota::kDeserved;
  DurationMs incomplete_gang_timeout_ms = 0;  // 0: never
  // After its grace period, until a terminating pod counts as stuck; 0: never.
  DurationMs stuck_pod_timeout_ms = 5 * 60 * kSecondMs;
  DurationMs assume_timeout_ms = 30 * kSecondMs;
  // Without it, jobs of low priority can starve behind jobs of high priority that keep arriving.
  DurationMs priority_boost_ms = 0;
  JobOrder job_order = JobOrder::kCreated;
  bool report_job_ahead = false;
  DurationMs usage_half_life_ms = 0;
  std::int32_t usage_weight_permille = 1000;
  GangLocality gang_locality = GangLocality::kNear;
  EnqueueGate enqueue_gate = EnqueueGate::kNone;
  std::int32_t overcommit_permille = 1200;
  // In a large cluster less often, so that it stays a small part of a cycle that changes little
  // (Engine::Tick).
  std::int32_t full_verify_every = 1000;
  std::vector<std::string> disabled_actions;

  bool enables(std::string_view action) const {
    return std::find(disabled_actions.begin(), disabled_actions.end(), action) ==
           disabled_actions.end();
  }
  // Tasks may be moved, and not only in a proposal.
  bool moves_tasks() const { return moves.mode == MoveSettings::Mode::kOn; }
  // At most so many tasks in an hour.
  std::int32_t moves_per_hour() const { return moves.moves_per_hour; }
  // Room is reserved for a moved task until it has been gone for so long.
  DurationMs move_return_timeout_ms() const { return moves.return_timeout_ms; }
  bool learns_runs() const { return reservations.predict != RunPrediction::kNone; }
  bool predicts_run(bool stated) const {
    return stated ? reservations.predict == RunPrediction::kAll : learns_runs();
  }
  bool operator==(const EngineConfig&) const = default;
};

}  // namespace tephra
