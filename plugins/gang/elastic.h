// Elastic members: the tasks and groups of a job beyond its minimum. Each stands for itself: a task
// of no group or of a group that has begun alone, a group that has not begun as a whole.
#pragma once

#include <vector>

#include "engine/policy.h"

namespace tephra {

// What pending members ask for beyond what this cycle has placed of the job.
std::vector<GangAsk> ElasticMembers(const Snapshot& snapshot, JobId job,
                                    const std::vector<Placement>& placed);

// Adds an ask for each pending task of the group, or of no group (kNoGroup), that is not `placed`.
void AddElasticMembers(const Snapshot& snapshot, JobId job, std::uint32_t group,
                       const std::vector<Placement>& placed, std::vector<GangAsk>& asks);

// The ask is a group that has not begun.
inline bool StartsGroup(const GangAsk& ask) {
  return !ask.groups.empty() && (ask.roles.size() > 1 || ask.roles[0].tasks.size() > 1);
}

}  // namespace tephra
