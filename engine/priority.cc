#include "engine/priority.h"

#include <algorithm>
#include <limits>

namespace tephra {
namespace {

constexpr std::int64_t kMostLeft = std::numeric_limits<std::int64_t>::max();

// How often the time has passed since the job was created, whatever times a fact gives.
std::int64_t Boosts(TimeMs created, TimeMs now, DurationMs each) {
  if (each <= 0 || created >= now) return 0;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const auto waited = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(created);
  return static_cast<std::int64_t>(std::min(waited / static_cast<std::uint64_t>(each), kMost));
}

// Of what is expected, less what its last task to start has run; at least 1 ms.
DurationMs Remaining(const Books& books, TimeMs now, const JobRow& job) {
  TimeMs started = -1;
  for (const RoleRow& role : job.roles) {
    if (role.counted == 0) continue;
    for (const TaskId id : role.tasks) {
      const TaskRow& task = books.tasks[id.index()];
      if (task.phase == TaskPhase::kRunning) started = std::max(started, task.started);
    }
  }
  const DurationMs ran = started < 0 ? 0 : std::max<DurationMs>(now - started, 0);
  return std::max<DurationMs>(job.estimated_runtime_ms - ran, 1);
}

// Milli-GPUs of all its tasks; of a job without GPUs its milli-cores.
std::int64_t Size(const Books& books, const JobRow& job) {
  std::int64_t gpus = 0, cpus = 0;
  for (const RoleRow& role : job.roles) {
    if (!role.cls.valid()) continue;
    const auto tasks = static_cast<std::int64_t>(role.tasks.size());
    gpus += books.classes[role.cls].demand[kGpu] * tasks;
    cpus += books.classes[role.cls].demand[kCpu] * tasks;
  }
  return gpus > 0 ? gpus : std::max<std::int64_t>(cpus, 1);
}

std::int64_t Product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostLeft : product;
}

}  // namespace

std::int64_t PriorityOf(const Snapshot& snapshot, const JobRow& job) {
  return job.priority + Boosts(job.created, snapshot.now(), snapshot.config().priority_boost_ms);
}

std::int64_t LeftOf(const Books& books, TimeMs now, const JobRow& job) {
  const JobOrder order = books.config.job_order;
  if (order == JobOrder::kCreated) return 0;
  if (job.estimated_runtime_ms <= 0) return kMostLeft;
  switch (order) {
    case JobOrder::kCreated:
      break;
    case JobOrder::kEstimatedRuntime:
      return job.estimated_runtime_ms;
    case JobOrder::kRemaining:
      return Remaining(books, now, job);
    case JobOrder::kRemainingWork:
      return Product(Remaining(books, now, job), Size(books, job));
  }
  return 0;
}

Precedence PrecedenceOf(const Snapshot& snapshot, const JobRow& job) {
  const std::int64_t left = EvictsByLeft(snapshot.config()) ? LeftOf(snapshot, job) : 0;
  return {PriorityOf(snapshot, job), -left};
}

}  // namespace tephra
