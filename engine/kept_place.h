// A place that was found for a gang before: whether it still does.
#pragma once

#include <vector>

#include "engine/workbench.h"

namespace tephra {

// It is for tasks that the gang asks for, and for as many as it has to have.
bool Serves(const Snapshot& snapshot, const GangAsk& ask, const std::vector<Placement>& place);

// All of it is free on the bench, but for the gang itself, and near enough together. False for no
// place. REQUIRES: it is charged there.
bool IsClear(Workbench& bench, const GangAsk& ask, const std::vector<Placement>& place);
// The same for one task, wherever the rest of its gang is.
bool IsClear(Workbench& bench, const Placement& place);

}  // namespace tephra
