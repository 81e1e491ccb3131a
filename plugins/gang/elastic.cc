#include "plugins/gang/elastic.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/gang_ask.h"
#include "engine/gang_counts.h"
#include "engine/missing.h"

namespace tephra {
namespace {

bool HasBegun(const Snapshot& snapshot, const JobRow& job, std::uint32_t group,
              const std::vector<Placement>& placed) {
  return GangCounts(job).of_group(job.groups[group]) > 0 ||
         std::any_of(placed.begin(), placed.end(), [&](const Placement& placement) {
           return job.Inside(job.roles[snapshot.task(placement.task).role].group, group);
         });
}

}  // namespace

std::vector<ElasticAsk> ElasticMembers(const Snapshot& snapshot, JobId id,
                                       const std::vector<Placement>& placed) {
  std::vector<ElasticAsk> asks;
  AddElasticMembers(snapshot, id, kNoGroup, placed, asks);
  return asks;
}

void AddElasticMembers(const Snapshot& snapshot, JobId id, std::uint32_t group,
                       const std::vector<Placement>& placed, std::vector<ElasticAsk>& asks) {
  const JobRow& job = snapshot.job(id);
  GangAsk any;
  any.job = id;
  any.queue = job.queue;
  any.least = 1;
  // The groups that the task is in, the outermost first.
  for (std::uint32_t up = group; up != kNoGroup; up = job.groups[up].parent) {
    GroupAsk& part = *any.groups.emplace(any.groups.begin());
    part.group = up;
    part.least = 1;
    part.end_role = 1;
  }
  for (GroupAsk& part : any.groups) part.end_group = any.groups.size();
  Locate(snapshot, placed, any);
  std::set<TaskId> taken;
  for (const Placement& placement : placed) taken.insert(placement.task);
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    if (job.roles[r].group != group) continue;
    for (const TaskId task : job.roles[r].tasks) {
      if (snapshot.task(task).phase != TaskPhase::kPending || taken.contains(task)) continue;
      asks.push_back({any, kNoGroup});
      asks.back().ask.roles.push_back({r, job.roles[r].cls, 1, {task}});
    }
  }
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    if (job.groups[g].parent != group) continue;
    if (HasBegun(snapshot, job, g, placed)) {
      AddElasticMembers(snapshot, id, g, placed, asks);
      continue;
    }
    GangAsk whole = WholeGroup(snapshot, id, g, placed);
    if (!MissingMembers(snapshot, whole)) asks.push_back({std::move(whole), g});
  }
}

}  // namespace tephra
