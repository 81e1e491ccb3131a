#include "engine/missing.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/gang_ask.h"
#include "engine/gang_counts.h"

namespace tephra {
namespace {

// Tasks of the role that a pod stands for, or stood for until it succeeded.
std::int64_t PodsOf(const Snapshot& snapshot, const RoleRow& role) {
  return std::count_if(role.tasks.begin(), role.tasks.end(), [&](TaskId task) {
    return snapshot.task(task).phase != TaskPhase::kAbsent;
  });
}

// Adds what the role asks, if anything.
void AddRole(const Snapshot& snapshot, const JobRow& job, std::uint32_t r, GangAsk& ask) {
  const RoleRow& role = job.roles[r];
  const std::int32_t least = GangCounts(job).missing(r);
  const std::int32_t asking = role.pending;
  if (least == 0 && asking == 0) return;
  RoleAsk& part = ask.roles.emplace_back(RoleAsk{r, role.cls, least, {}});
  part.tasks.reserve(static_cast<std::size_t>(asking));
  for (TaskId task : role.tasks) {
    if (snapshot.task(task).phase == TaskPhase::kPending) part.tasks.push_back(task);
  }
}

std::int32_t LeastOf(const GangAsk& ask, std::size_t first, std::size_t end) {
  std::int32_t least = 0;
  for (std::size_t r = first; r < end; ++r) least += ask.roles[r].least;
  return least;
}

std::int32_t AskingOf(const GangAsk& ask, std::size_t first, std::size_t end) {
  std::size_t tasks = 0;
  for (std::size_t r = first; r < end; ++r) tasks += ask.roles[r].tasks.size();
  return static_cast<std::int32_t>(tasks);
}

// Adds what the group asks, if anything.
void AddGroup(const Snapshot& snapshot, const JobRow& job, std::uint32_t g, GangAsk& ask) {
  const GroupRow& group = job.groups[g];
  GroupAsk part;
  part.group = g;
  part.first_role = ask.roles.size();
  for (const std::uint32_t r : group.roles) AddRole(snapshot, job, r, ask);
  part.end_role = ask.roles.size();
  part.least = GangCounts(job).missing(group);
  if (part.first_role == part.end_role && part.least <= 0) return;
  ask.groups.push_back(part);
}

// Tasks that the gang's minimum takes beyond those of its roles and groups are of no group, as far
// as those go, and then of the groups in their order.
void SpreadOverGroups(GangAsk& ask) {
  const std::size_t rest = ask.groups.empty() ? ask.roles.size() : ask.groups[0].first_role;
  std::int32_t open = ask.least - std::max(LeastOf(ask, 0, rest), AskingOf(ask, 0, rest));
  for (const GroupAsk& group : ask.groups) open -= group.least;
  for (GroupAsk& group : ask.groups) {
    const std::int32_t spare = AskingOf(ask, group.first_role, group.end_role) - group.least;
    const std::int32_t more = std::clamp(open, 0, std::max(spare, 0));
    group.least += more;
    open -= more;
    // The one role is all of the group.
    if (group.end_role == group.first_role + 1) ask.roles[group.first_role].least = group.least;
  }
}

}  // namespace

std::vector<TaskId> TasksIn(const Snapshot& snapshot, const JobRow& job, TaskPhase phase) {
  std::vector<TaskId> tasks;
  for (const RoleRow& role : job.roles) {
    std::copy_if(role.tasks.begin(), role.tasks.end(), std::back_inserter(tasks),
                 [&](TaskId task) { return snapshot.task(task).phase == phase; });
  }
  return tasks;
}

GangAsk MissingMinimum(const Snapshot& snapshot, JobId id) {
  const JobRow& job = snapshot.job(id);
  GangAsk ask;
  ask.job = id;
  ask.queue = job.queue;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    if (job.roles[r].group == kNoGroup) AddRole(snapshot, job, r, ask);
  }
  const GangCounts counts(job);
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    if (counts.takes(job.groups[g])) AddGroup(snapshot, job, g, ask);
  }
  ask.least = counts.missing();
  if (!ask.groups.empty()) SpreadOverGroups(ask);
  Locate(snapshot, {}, ask);
  return ask;
}

GangAsk WholeGroup(const Snapshot& snapshot, JobId id, std::uint32_t group,
                   const std::vector<Placement>& placed) {
  GangAsk ask;
  ask.job = id;
  ask.queue = snapshot.job(id).queue;
  AddGroup(snapshot, snapshot.job(id), group, ask);
  for (const GroupAsk& part : ask.groups) ask.least += part.least;
  Locate(snapshot, placed, ask);
  return ask;
}

std::optional<Reason> MissingMembers(const Snapshot& snapshot, const GangAsk& ask) {
  const JobRow& job = snapshot.job(ask.job);
  Reason reason;
  reason.obstacle = Obstacle::kMembers;
  for (const GroupAsk& group : ask.groups) {
    const std::int32_t asking = AskingOf(ask, group.first_role, group.end_role);
    if (asking >= group.least) continue;
    const GroupRow& row = job.groups[group.group];
    reason.group = row.spec.name;
    reason.tasks_needed = group.least;
    reason.tasks_fit = asking;
    if (job.pods_exist) {
      for (const std::uint32_t r : row.roles) reason.pods_there += PodsOf(snapshot, job.roles[r]);
      reason.pods_needed = row.spec.min_member;
    }
    return reason;
  }
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

bool RunsWithout(const Snapshot& snapshot, JobId id, const std::vector<TaskId>& gone) {
  const JobRow& job = snapshot.job(id);
  std::vector<std::int32_t> by_role(job.roles.size());
  for (const TaskId task : gone) ++by_role[snapshot.task(task).role];
  return job.groups.empty() && GangCounts(job, by_role).met();
}

}  // namespace tephra
