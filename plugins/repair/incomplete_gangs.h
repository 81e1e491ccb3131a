// Gangs that ran with less than their minimum for too long are evicted whole, so that they start again
// as a gang. Off unless the configuration has a timeout. See README.md.
#pragma once

#include "engine/cycle.h"

namespace tephra {

void EvictIncompleteGangs(Cycle& cycle);

}  // namespace tephra
