// Why a gang does not fit, in numbers: the role that binds, what each of its tasks takes, what is
// there, and the node that comes nearest.
#pragma once

#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"

namespace tephra {

// REQUIRES: `answer` is what the placer said of `ask` on this workbench, and it is not kPlaced.
Reason ShortageReason(Workbench& bench, const GangAsk& ask, const Placer::Answer& answer);

}  // namespace tephra
