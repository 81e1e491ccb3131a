#include "plugins/repair/incomplete_gangs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/gang_counts.h"
#include "engine/missing.h"

namespace tephra {
namespace {

// Whether this cycle places or evicts tasks of the job. Then a later cycle looks at it again.
bool Settled(const Cycle& cycle, JobId id) {
  const std::vector<Decision>& decisions = cycle.plan().decisions;
  return cycle.evicts(id) || std::any_of(decisions.begin(), decisions.end(), [&](const Decision& one) {
           return one.job == id && (!one.placements.empty() || !one.evictions.empty());
         });
}

}  // namespace

void EvictIncompleteGangs(Cycle& cycle) {
  const Snapshot& snapshot = cycle.snapshot();
  const DurationMs timeout = snapshot.config().incomplete_gang_timeout_ms;
  for (const auto& [id, since] : snapshot.books().incomplete) {
    const JobRow& job = snapshot.job(id);
    if (snapshot.now() - since < timeout || job.keeps_room() || Settled(cycle, id)) continue;
    if (!TasksIn(snapshot, job, TaskPhase::kAssumed).empty()) continue;
    std::vector<TaskId> running = TasksIn(snapshot, job, TaskPhase::kRunning);
    if (running.empty()) continue;
    Reason reason;
    reason.obstacle = Obstacle::kIncomplete;
    reason.tasks_run = job.counted();
    reason.tasks_least = job.counted() + GangCounts(job).missing();
    reason.incomplete_since_ms = since;
    reason.incomplete_timeout_ms = timeout;
    reason.evicted = static_cast<std::int64_t>(running.size());
    cycle.Commit({id, Part::kMinimum, Verdict::kUnwind, std::move(reason), {}, std::move(running), {}});
  }
}

}  // namespace tephra
