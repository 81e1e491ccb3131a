// Why a gang does not fit, in numbers: the role that binds, what each of its tasks takes, what is
// there, and the node that comes nearest.
#pragma once

#include "engine/cycle.h"

namespace tephra {

// The same gang, wherever its running tasks are now.
GangAsk Apart(GangAsk ask);

// What the placer says of the gang in the empty cluster. The answers are stored while the nodes stay the same.
Placer::Answer PlaceInEmpty(Cycle& cycle, const GangAsk& apart);

// REQUIRES: `answer` is what the placer said of `ask` on this workbench, and it is not kPlaced.
Reason ShortageReason(Workbench& bench, const GangAsk& ask, const Placer::Answer& answer);

}  // namespace tephra
