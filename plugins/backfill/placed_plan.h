// PlacedPlan: reservations for any gang. Each is certified by a placement on what is free then,
// beside the placements of all other reservations that overlap with it in time.
#pragma once

#include <memory>

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

// As Reservations::Begin.
std::unique_ptr<ReservationPlan> MakePlacedPlan(Workbench& now, Workbench& ahead,
                                             const std::vector<JobId>& standing,
                                             std::unique_ptr<ReservationMemory>& memory);

}  // namespace tephra
