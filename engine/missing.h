// What a gang lacks to run at all.
#pragma once

#include <optional>
#include <vector>

#include "engine/policy.h"

namespace tephra {

// The tasks of the job in that phase, by role and index.
std::vector<TaskId> TasksIn(const Snapshot& snapshot, const JobRow& job, TaskPhase phase);

// Tasks that run already count: a gang of which one member restarts is completed.
GangAsk MissingMinimum(const Snapshot& snapshot, JobId id);

// What the group lacks to begin, near those of the job that run or are among `placed`. The groups
// that it is in come first in the ask.
GangAsk WholeGroup(const Snapshot& snapshot, JobId id, std::uint32_t group,
                   const std::vector<Placement>& placed);

// Whether every minimum of the job would be met without these running tasks of it. One with groups
// is never asked to do without any.
bool RunsWithout(const Snapshot& snapshot, JobId id, const std::vector<TaskId>& gone);

// Fewer tasks ask to run than the minimum takes; nothing where there are enough.
std::optional<Reason> MissingMembers(const Snapshot& snapshot, const GangAsk& ask);

}  // namespace tephra
