// Why a gang does not fit, in numbers: the role that binds, what each of its tasks takes, what is
// there, and the node that comes nearest.
#pragma once

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

// REQUIRES: `answer` is what the placer said of `ask` on this workbench, and it is not kPlaced.
Reason ShortageReason(Workbench& bench, const GangAsk& ask, const Placer::Answer& answer);

}  // namespace tephra
