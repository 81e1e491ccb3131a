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

// Adds what the group and the needed groups inside it ask, if anything.
void AddGroup(const Snapshot& snapshot, const JobRow& job, std::uint32_t g, GangAsk& ask) {
  const GroupRow& group = job.groups[g];
  const GangCounts counts(job);
  const std::size_t at = ask.groups.size();
  GroupAsk part;
  part.group = g;
  part.first_role = ask.roles.size();
  ask.groups.push_back(part);
  for (const std::uint32_t r : group.roles) AddRole(snapshot, job, r, ask);
  for (const std::uint32_t inner : group.groups) {
    if (counts.needed(job.groups[inner])) AddGroup(snapshot, job, inner, ask);
  }
  part.end_role = ask.roles.size();
  part.least = counts.missing(group);
  part.end_group = ask.groups.size();
  ask.groups[at] = part;
  if (part.first_role == part.end_role && part.least <= 0) ask.groups.pop_back();
}

// Tasks that the minimum of a gang or group takes beyond those of its roles and groups are of no
// group inside it, as far as those go, and then of these groups in their order.
struct Members {
  std::size_t first_role, end_role, first_group, end_group;
  std::int32_t least;
};
void SpreadOverGroups(const Members& all, GangAsk& ask) {
  if (all.first_group == all.end_group) return;
  const std::size_t rest = ask.groups[all.first_group].first_role;
  std::int32_t open =
      all.least - std::max(LeastOf(ask, all.first_role, rest), AskingOf(ask, all.first_role, rest));
  for (std::size_t g = all.first_group; g < all.end_group; g = ask.groups[g].end_group) {
    open -= ask.groups[g].least;
  }
  for (std::size_t g = all.first_group; g < all.end_group; g = ask.groups[g].end_group) {
    GroupAsk& group = ask.groups[g];
    const std::int32_t spare = AskingOf(ask, group.first_role, group.end_role) - group.least;
    const std::int32_t more = std::clamp(open, 0, std::max(spare, 0));
    group.least += more;
    open -= more;
    SpreadOverGroups({group.first_role, group.end_role, g + 1, group.end_group, group.least}, ask);
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
    const GroupRow& group = job.groups[g];
    if (group.parent == kNoGroup && counts.needed(group)) AddGroup(snapshot, job, g, ask);
  }
  ask.least = counts.missing();
  SpreadOverGroups({0, ask.roles.size(), 0, ask.groups.size(), ask.least}, ask);
  Locate(snapshot, {}, ask);
  return ask;
}

GangAsk WholeGroup(const Snapshot& snapshot, JobId id, std::uint32_t group,
                   const std::vector<Placement>& placed) {
  GangAsk ask;
  ask.job = id;
  ask.queue = snapshot.job(id).queue;
  const JobRow& job = snapshot.job(id);
  for (std::uint32_t up = job.groups[group].parent; up != kNoGroup; up = job.groups[up].parent) {
    ask.groups.emplace(ask.groups.begin())->group = up;
  }
  const std::size_t at = ask.groups.size();
  AddGroup(snapshot, job, group, ask);
  ask.least = ask.groups[at].least;
  for (std::size_t g = 0; g < at; ++g) {
    GroupAsk& outer = ask.groups[g];
    outer.least = ask.least;
    outer.end_role = ask.roles.size();
    outer.end_group = ask.groups.size();
  }
  SpreadOverGroups({0, ask.roles.size(), 0, ask.groups.size(), ask.least}, ask);
  Locate(snapshot, placed, ask);
  return ask;
}

std::optional<Reason> MissingMembers(const Snapshot& snapshot, const GangAsk& ask) {
  const JobRow& job = snapshot.job(ask.job);
  Reason reason;
  reason.obstacle = Obstacle::kMembers;
  const GroupAsk* short_group = nullptr;  // the first one, and the first one inside that
  std::size_t end = ask.groups.size();
  for (std::size_t g = 0; g < end; ++g) {
    const GroupAsk& group = ask.groups[g];
    if (AskingOf(ask, group.first_role, group.end_role) >= group.least) continue;
    short_group = &group;
    end = group.end_group;
  }
  if (short_group != nullptr) {
    const GroupAsk& group = *short_group;
    const std::int32_t asking = AskingOf(ask, group.first_role, group.end_role);
    const GroupRow& row = job.groups[group.group];
    reason.group = row.spec.name;
    reason.tasks_needed = group.least;
    reason.tasks_fit = asking;
    if (job.pods_exist) {
      for (const RoleRow& role : job.roles) {
        if (job.Inside(role.group, group.group)) reason.pods_there += PodsOf(snapshot, role);
      }
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
