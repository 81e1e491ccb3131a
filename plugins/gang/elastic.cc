#include "plugins/gang/elastic.h"

#include <set>
#include <utility>

#include "engine/gang_ask.h"
#include "engine/gang_counts.h"
#include "engine/missing.h"

namespace tephra {

std::vector<GangAsk> ElasticMembers(const Snapshot& snapshot, JobId id,
                                    const std::vector<Placement>& placed) {
  const JobRow& job = snapshot.job(id);
  std::set<std::uint32_t> begun;  // groups
  for (const Placement& placement : placed) {
    begun.insert(job.roles[snapshot.task(placement.task).role].group);
  }
  std::vector<GangAsk> asks;
  AddElasticMembers(snapshot, id, kNoGroup, placed, asks);
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    if (GangCounts(job).of_group(job.groups[g]) > 0 || begun.contains(g)) {
      AddElasticMembers(snapshot, id, g, placed, asks);
      continue;
    }
    GangAsk whole = WholeGroup(snapshot, id, g, placed);
    if (!MissingMembers(snapshot, whole)) asks.push_back(std::move(whole));
  }
  return asks;
}

void AddElasticMembers(const Snapshot& snapshot, JobId id, std::uint32_t group,
                       const std::vector<Placement>& placed, std::vector<GangAsk>& asks) {
  const JobRow& job = snapshot.job(id);
  GangAsk any;
  any.job = id;
  any.queue = job.queue;
  any.least = 1;
  if (group != kNoGroup) {
    GroupAsk& part = any.groups.emplace_back();
    part.group = group;
    part.least = 1;
    part.end_role = 1;
  }
  Locate(snapshot, placed, any);
  std::set<TaskId> taken;
  for (const Placement& placement : placed) taken.insert(placement.task);
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    if (job.roles[r].group != group) continue;
    for (const TaskId task : job.roles[r].tasks) {
      if (snapshot.task(task).phase != TaskPhase::kPending || taken.contains(task)) continue;
      asks.emplace_back(any).roles.push_back({r, job.roles[r].cls, 1, {task}});
    }
  }
}

}  // namespace tephra
