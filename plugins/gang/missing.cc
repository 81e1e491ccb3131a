#include "plugins/gang/missing.h"

#include <algorithm>
#include <utility>

#include "plugins/framework/gang_ask.h"

namespace tephra {
namespace {

// Tasks of the role that a pod stands for, or stood for until it succeeded.
std::int64_t PodsOf(const Snapshot& snapshot, const RoleRow& role) {
  return std::count_if(role.tasks.begin(), role.tasks.end(), [&](TaskId task) {
    return snapshot.task(task).phase != TaskPhase::kAbsent;
  });
}

}  // namespace

GangAsk MissingMinimum(const Snapshot& snapshot, JobId id) {
  const JobRow& job = snapshot.job(id);
  GangAsk ask;
  ask.job = id;
  ask.queue = job.queue;
  std::int32_t role_least = 0, counted = 0;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    counted += role.counted;
    const std::int32_t least = std::max(0, role.min - role.counted);
    role_least += least;
    const std::int32_t asking = role.pending + role.held;
    if (least == 0 && asking == 0) continue;
    RoleAsk& part = ask.roles.emplace_back(RoleAsk{r, role.cls, least, {}});
    part.tasks.reserve(static_cast<std::size_t>(asking));
    for (TaskId task : role.tasks) {
      if (Asks(snapshot.task(task).phase)) part.tasks.push_back(task);
    }
  }
  ask.least = std::max(role_least, job.min_member - counted);
  Locate(snapshot, {}, ask);
  return ask;
}

std::optional<Reason> MissingMembers(const Snapshot& snapshot, const GangAsk& ask) {
  const JobRow& job = snapshot.job(ask.job);
  Reason reason;
  reason.obstacle = Obstacle::kMembers;
  std::int64_t asking = 0;
  for (const RoleAsk& role : ask.roles) {
    asking += static_cast<std::int64_t>(role.tasks.size());
    if (static_cast<std::size_t>(role.least) <= role.tasks.size()) continue;
    const RoleRow& row = job.roles[role.role];
    reason.role = row.name;
    reason.tasks_needed = role.least;
    reason.tasks_fit = static_cast<std::int64_t>(role.tasks.size());
    if (job.pods_exist) {
      reason.pods_there = PodsOf(snapshot, row);
      reason.pods_needed = row.min;
    }
    return reason;
  }
  if (asking >= ask.least) return std::nullopt;
  reason.tasks_needed = ask.least;
  reason.tasks_fit = asking;
  if (job.pods_exist) {
    for (const RoleRow& role : job.roles) reason.pods_there += PodsOf(snapshot, role);
    reason.pods_needed = job.min_member;
  }
  return reason;
}

}  // namespace tephra
