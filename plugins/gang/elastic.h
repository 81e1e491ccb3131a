// Elastic members: the tasks and groups of a job beyond its minimum. Each stands for itself: a task
// of no group or of a group that has begun alone, a group that has not begun as a whole. What is
// inside a group waits until the group has begun.
#pragma once

#include <vector>

#include "engine/policy.h"

namespace tephra {

struct ElasticAsk {
  GangAsk ask;
  std::uint32_t starts = kNoGroup;  // the group that begins with it; none: a task alone
};

// What pending members ask for beyond what this cycle has placed of the job.
std::vector<ElasticAsk> ElasticMembers(const Snapshot& snapshot, JobId job,
                                       const std::vector<Placement>& placed);

// Adds what pending members of the group ask, or of the job (kNoGroup), and of the groups inside it,
// beyond what is `placed`. REQUIRES: the group has begun.
void AddElasticMembers(const Snapshot& snapshot, JobId job, std::uint32_t group,
                       const std::vector<Placement>& placed, std::vector<ElasticAsk>& asks);

}  // namespace tephra
