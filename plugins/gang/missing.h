// What a gang lacks to run at all.
#pragma once

#include <optional>

#include "plugins/framework/policy.h"

namespace tephra {

// A task that room is set aside for asks too.
constexpr bool Asks(TaskPhase phase) {
  return phase == TaskPhase::kPending || phase == TaskPhase::kHeld;
}

// Tasks that run already count: a gang of which one member restarts is completed.
GangAsk MissingMinimum(const Snapshot& snapshot, JobId id);

// Fewer tasks ask to run than the minimum takes; nothing where there are enough.
std::optional<Reason> MissingMembers(const Snapshot& snapshot, const GangAsk& ask);

}  // namespace tephra
