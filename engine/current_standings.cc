#include "engine/current_standings.h"

#include <string_view>
#include <tuple>
#include <utility>

namespace tephra {

Standing CurrentStandings::Of(JobId id) {
  Standing standing = StandingOf(books_, id);
  if (standing.reason->obstacle != Obstacle::kBehind) return standing;
  FindFirst();
  const auto first = first_.find(books_.jobs[id.index()].queue);
  if (first == first_.end()) return standing;
  Reason reason = standing.reason;
  reason.ahead = first->second->name;
  standing.reason = std::move(reason);
  return standing;
}

void CurrentStandings::FindFirst() {
  if (std::exchange(found_, true)) return;
  const auto turn = [](const JobRow& job) {
    return std::tuple(-std::int64_t{job.priority}, job.created, std::string_view(job.uid));
  };
  for (const JobId id : books_.waiting) {
    const JobRow& job = books_.jobs[id.index()];
    if (!books_.queues.InOrder(job.queue)) continue;
    if (job.satisfied()) continue;
    const Standing& said = StandingOf(books_, id);
    if (!said.asked || said.reason->obstacle == Obstacle::kBehind) continue;
    const JobRow*& first = first_[job.queue];
    if (first == nullptr || turn(job) < turn(*first)) first = &job;
  }
}

}  // namespace tephra
