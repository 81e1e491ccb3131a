// Snapshot: an instant of the State, and all that a policy may look at. Never written: State
// refuses to change while one lives (docs/adr/0001).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/event.h"
#include "engine/inqueue.h"
#include "engine/mask.h"
#include "engine/occupancy.h"
#include "engine/pending_starts.h"
#include "engine/recent_pods.h"
#include "engine/rows.h"
#include "engine/run_history.h"
#include "engine/timeline.h"
#include "engine/usage.h"
#include "engine/waiting_lines.h"
#include "topology/base/ids.h"
#include "topology/base/stable_rows.h"

namespace tephra {

// What moves_per_hour counts.
constexpr DurationMs kMovesWindowMs = 60 * 60 * kSecondMs;

// Tables that State owns and a Snapshot shows.
struct Books {
  ResourceKinds kinds;
  Hardware hardware;
  QueueTree queues;
  ClassTable classes;
  Occupancy occupancy;
  StableRows<JobRow> jobs;
  StableRows<TaskRow> tasks;
  WaitingLines lines;                      // of those of which nothing runs
  std::vector<JobId> waiting;              // jobs with a pending task, in no order
  std::set<JobId> reserved_starts;         // all jobs with a reserved start, and some that had one
  std::vector<std::vector<JobId>> placed;  // by QueueId: jobs of which a task counts, in no order
  std::vector<std::vector<TaskId>> tasks_on;  // by NodeId: the tasks that hold room, in no order
  std::vector<TaskId> releasing;              // in no order
  // Jobs that run with less than their minimum, and since when; 0: since before the first cycle. Empty
  // without EngineConfig::incomplete_gang_timeout_ms.
  std::map<JobId, TimeMs> incomplete;
  Timeline timeline;
  RunHistory runs;
  PendingStarts starts;  // of jobs with pending tasks that do not have their minimum
  std::unordered_set<std::uint64_t> refused;  // class and node, see RefusalKey
  // Demand of pending tasks without reserved room, by QueueId, each its own. How much memory whole devices have shows
  // only when they are chosen.
  struct Demand {
    Resources amount;
    std::int64_t whole_gpus = 0;  // of the GPUs, those asked for whole

    bool operator==(const Demand&) const = default;
  };
  std::vector<Demand> queue_pending;
  // By QueueId: how many jobs of each priority are in it.
  std::vector<std::map<std::int32_t, std::int32_t>> queue_priorities;
  Usage usage;      // what queues and users held before; empty while it does not count
  Inqueue inqueue;  // empty while there is no enqueue gate
  RecentPods recent_pods;
  Masks masks;
  std::int32_t movable_jobs = 0;
  std::deque<std::pair<TimeMs, std::int32_t>> moves;       // of the last hour: when, how many tasks
  std::map<std::string, std::int32_t> disruption_budgets;  // how many evictions each allows
  EngineConfig config;
  std::uint64_t config_version = 0;
  std::uint64_t version = 0;  // grows with every fact
  std::uint64_t news = 0;     // grows with every change that no plan brought about
  std::uint64_t turns = 0;    // as Reservation::turn counts them
  // Grows when room comes or goes in another way, or at another time, than plans and run-time
  // estimates said.
  std::uint64_t surprises = 1;
  // Grows with those of them after which a job may not have the place that is reserved for it.
  std::uint64_t losses = 1;

  Facts facts() const { return {hardware, queues, classes}; }
};

// What was last said of the job, or of another job of its line so that it holds for this one, too.
const Standing& StandingOf(const Books& books, JobId job);

constexpr std::uint64_t RefusalKey(ClassId cls, NodeId node) {
  return std::uint64_t{cls.value} << 32 | node.value;
}

// How many tasks may be moved now. What is only proposed is judged as if none had moved.
inline std::int32_t MovesLeft(const Books& books) {
  std::int32_t left = books.config.moves_per_hour();
  if (!books.config.moves_tasks()) return left;
  for (const auto& [at, tasks] : books.moves) left -= tasks;
  return left;
}

class Snapshot {
 public:
  Snapshot(const Books& books, TimeMs now, std::int32_t* living)
      : books_(&books), now_(now), living_(living) {
    ++*living_;
  }
  ~Snapshot() {
    if (living_ != nullptr) --*living_;
  }
  Snapshot(Snapshot&& other) noexcept
      : books_(other.books_), now_(other.now_), living_(std::exchange(other.living_, nullptr)) {}
  Snapshot& operator=(Snapshot&&) = delete;

  TimeMs now() const { return now_; }
  const Books& books() const { return *books_; }
  Facts facts() const { return books_->facts(); }
  const Hardware& hardware() const { return books_->hardware; }
  const QueueTree& queues() const { return books_->queues; }
  const ClassTable& classes() const { return books_->classes; }
  const Occupancy& occupancy() const { return books_->occupancy; }
  const JobRow& job(JobId id) const { return books_->jobs[id.index()]; }
  const TaskRow& task(TaskId id) const { return books_->tasks[id.index()]; }
  const TaskClass& cls(ClassId id) const { return books_->classes[id]; }
  const EngineConfig& config() const { return books_->config; }
  std::uint64_t version() const { return books_->version; }

 private:
  const Books* books_;
  TimeMs now_;
  std::int32_t* living_;
};

}  // namespace tephra
