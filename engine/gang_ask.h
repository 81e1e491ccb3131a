// What a gang asks for: in sum, where, and in which order it is placed.
#pragma once

#include <vector>

#include "engine/policy.h"

namespace tephra {

// What the tasks that must be placed take at the least, as far as it is known before devices are
// chosen: of each kind, the roles' minimums and then the cheapest tasks.
Resources LeastDemand(const Snapshot& snapshot, const GangAsk& ask);

// The same for what a job lacks to run, from its rows alone.
Resources LeastMissing(const Snapshot& snapshot, const JobRow& job);

// The part of that group of ask.groups, as an ask of its own.
GangAsk PartOf(const GangAsk& ask, std::size_t group);

// The part of no group.
GangAsk RestOf(const GangAsk& ask);

// Says in the ask how near to each other, and to those of the job that run or are among `placed`,
// its tasks are to be, those of each group among themselves, too.
void Locate(const Snapshot& snapshot, const std::vector<Placement>& placed, GangAsk& ask);

// The same as if nothing of the job ran.
void LocateAlone(const Snapshot& snapshot, GangAsk& ask);

// Whether the job, and each group of the ask, would be in one domain on these placements, where it
// has to be. REQUIRES: Locate.
bool Together(const Snapshot& snapshot, const GangAsk& ask,
              const std::vector<Placement>& placements);

// Indexes into ask.roles, hardest first: whole devices, then GPU, GPU memory, CPU and memory asked
// for; then as the job lists them.
std::vector<std::size_t> HardestFirst(const Snapshot& snapshot, const GangAsk& ask);

// The random number of the nth task that is placed of a role.
std::uint64_t DrawOf(const Snapshot& snapshot, const GangAsk& ask, const RoleAsk& role,
                     std::int32_t nth);

}  // namespace tephra
