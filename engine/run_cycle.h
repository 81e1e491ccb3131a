// RunCycle: the one gate through which every action passes. It runs each action that is not
// disabled on one Cycle and lets an observer time it.
#pragma once

#include <memory>
#include <vector>

#include "engine/action.h"

namespace tephra {

// `observer` may be null.
Plan RunCycle(const Snapshot& snapshot, const Policies& policies,
              const std::vector<std::unique_ptr<Action>>& actions, Due due,
              CycleTools& tools, CycleObserver* observer);

}  // namespace tephra
