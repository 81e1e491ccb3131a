// What a task holds, its devices' share included.
#pragma once

#include "queue/task_class.h"
#include "topology/hardware.h"

namespace tephra {

// REQUIRES: the slices are its own on that node.
Resources HoldingsOf(const Hardware& hardware, const TaskClass& cls, NodeId node,
                     const Slices& slices);

}  // namespace tephra
