// What a task holds, its devices' share included.
#pragma once

#include "queue/task_class.h"

namespace tephra {

// REQUIRES: the slices are those that it was placed on.
Resources HoldingsOf(const TaskClass& cls, const Slices& slices);

}  // namespace tephra
