// EngineConfig: everything that may be set about decisions. It arrives as an Event, so that a
// journal replays under the settings of its time.
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

// Who goes first among the jobs of a queue that have one priority. What a job is expected to run is
// JobSpec::expected_run_ms; who does not say comes last.
enum class JobOrder : std::uint8_t {
  kCreated,        // who came first
  kExpectedRun,    // the shortest
  kRemaining,      // who has the least left to run; others that have more left go for it
  kRemainingWork,  // the same, by that times GPUs
};

// Who is tried at all.
enum class EnqueueGate : std::uint8_t {
  kNone,     // whoever waits
  kVolcano,  // whoever Volcano's action enqueue would let in
};

// What becomes of gangs that do not say how near to each other their tasks are to be.
enum class GangLocality : std::uint8_t {
  kNear,  // as near as there is room, where domains are known
  kNone,  // nodes by score alone
};

// A stretch of each day, in minutes since midnight UTC; one that ends before it begins goes past
// midnight.
struct DailyWindow {
  std::int32_t begin_min = 0;
  std::int32_t end_min = 0;

  bool operator==(const DailyWindow&) const = default;
};

// Whether jobs that allow it are moved for gangs that find room only in pieces.
struct Consolidation {
  enum class Mode : std::uint8_t {
    kOff,
    kDryRun,  // moves are worked out and told
    kOn,
  };
  Mode mode = Mode::kDryRun;
  std::int32_t moves_per_hour = 20;  // tasks
  std::vector<DailyWindow> windows;  // when tasks may be moved; none given: always
  // A plan is worth its moves where the GPUs of the gang, for so long, are more than what the moved
  // tasks lose: their work since they last saved it, and so much for each restart.
  DurationMs horizon_ms = 60 * 60 * kSecondMs;
  DurationMs restart_cost_ms = 10 * 60 * kSecondMs;
  // Placements tried in the search for the fewest moves for one gang.
  std::int32_t budget = 20000;
  // Room is kept for a moved task until it has been gone for so long.
  DurationMs return_timeout_ms = 10 * 60 * kSecondMs;

  bool operator==(const Consolidation&) const = default;
};

// How long jobs are expected to run of which nobody says it, by what earlier jobs of the same user
// of the same queue ran.
struct RunPrediction {
  enum class By : std::uint8_t {
    kNone,      // it is not known
    kLastTwo,   // the mean of the last two
    kQuantile,  // as long as `percent` of the last ones at most
  };
  By by = By::kLastTwo;
  std::int32_t percent = 90;  // 1 to 100

  bool operator==(const RunPrediction&) const = default;
};

// Who is promised a start at a time, and who may start before those that wait (docs/backfill.md).
struct Backfill {
  enum class Mode : std::uint8_t {
    kNone,          // nobody is promised anything: whoever fits starts
    kEasy,          // the first `reservations` that wait
    kConservative,  // all that wait
  };
  // In which order the others are tried once the promises are made.
  enum class Order : std::uint8_t {
    kTurn,           // whose turn it is
    kShortestFirst,  // who is expected to run for the shortest time, then whose turn it is
  };
  Mode mode = Mode::kEasy;
  Order order = Order::kTurn;
  std::int32_t reservations = 1;
  bool per_queue = false;  // the first so many of each queue
  RunPrediction predict;

  bool operator==(const Backfill&) const = default;
};

struct EngineConfig {
  // What costs the pods to come least; then the best links between GPUs; binpack settles ties, and
  // stands for the first while nobody is expected.
  std::vector<WeightedName> node_scores = {{"stranding", 1000}, {"links", 10}, {"binpack", 1}};
  std::vector<WeightedName> device_scores = {{"stranding", 1000}, {"binpack", 1}};
  Ties ties = Ties::kFirstName;
  std::uint64_t seed = 0;
  // For scores fgd and stranding, most frequent first; none given: stranding goes by what has come
  // of late (RecentPods).
  std::vector<ExpectedPod> expected_pods;
  // Steps of the exact search for a gang whose tasks did not fit one by one.
  std::int32_t search_budget = 20000;
  // What makes a task dear to evict.
  std::vector<WeightedName> victim_costs = {
      {"queue-priority", 16}, {"priority", 8}, {"share", 4}, {"lost-work", 2}, {"restarts", 1}};
  // Placements tried in the exact search for those who have to go for a gang.
  std::int32_t eviction_budget = 20000;
  Consolidation consolidation;
  Backfill backfill;
  // Whether gangs that hold slices of unhealthy devices are evicted.
  bool evict_from_unhealthy = false;
  DurationMs assume_timeout_ms = 30 * kSecondMs;
  // A waiting job's priority counts for one more with each such time that has passed since it was
  // created, so that none of lower priority waits for ever behind those that keep coming; 0: never.
  DurationMs priority_boost_ms = 0;
  JobOrder job_order = JobOrder::kCreated;
  // In a queue that is first in, first out, whoever waits behind the first is told so, by its name,
  // each time that it is another. False: only when he comes, and a cycle costs nothing for him.
  bool tells_behind = true;
  // Past usage counts for shares, half as much after each such time; 0: it does not count.
  DurationMs usage_half_life_ms = 0;
  // How much it counts beside the weights of the queues; 0: only among the users of a queue.
  std::int32_t usage_weight_permille = 1000;
  GangLocality gang_locality = GangLocality::kNear;
  EnqueueGate enqueue_gate = EnqueueGate::kNone;
  // kVolcano: how much of the cluster may be used or waited for by those let in.
  std::int32_t overcommit_permille = 1200;
  // Every so many cycles all books are recomputed from the facts; 0: never. In a large cluster
  // less often, so that it stays a small part of a cycle that changes little (Engine::Tick).
  std::int32_t full_verify_every = 1000;
  std::vector<std::string> disabled_actions;

  bool enables(std::string_view action) const {
    return std::find(disabled_actions.begin(), disabled_actions.end(), action) ==
           disabled_actions.end();
  }
  bool operator==(const EngineConfig&) const = default;
};

}  // namespace tephra
