// StartInterval: between which times a pending job is expected to start.
#pragma once

#include <string>

#include "topology/base/time.h"

namespace tephra {

// The job starts from `low` to `high` with a probability of 90 %.
struct StartInterval {
  TimeMs low = 0, high = 0;  // both 0: not known

  bool known() const { return high != 0; }
  bool operator==(const StartInterval&) const = default;
};

// For users: "starts between 2026-11-22T14:05Z and 15:20Z (90 %)", in whole minutes, rounded outwards.
// REQUIRES: it is known.
std::string StartIntervalText(const StartInterval& interval);

}  // namespace tephra
