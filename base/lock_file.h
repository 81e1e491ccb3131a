// LockFile: a lock that one process at a time holds.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "topology/base/status.h"

namespace tephra {

enum class LockedBefore { kRefuse, kWait };

// Held until the descriptor is closed, or its process dies: flock(2) of a file, which is made where
// it is missing and stays. ALREADY_EXISTS: another process holds it; it is not waited for.
// UNAVAILABLE: the system's own reason. Both name the file.
absl::StatusOr<Descriptor> LockFile(const std::string& path, LockedBefore before);

}  // namespace tephra
