// What a gang asks for, in sum.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

// What the tasks that must be placed take at the least, as far as it is known before devices are
// chosen: of each kind, the roles' minimums and then the cheapest tasks.
Resources LeastDemand(const Snapshot& snapshot, const GangAsk& ask);

// The same for what a job lacks to run, from its rows alone.
Resources LeastMissing(const Snapshot& snapshot, const JobRow& job);

}  // namespace tephra
