// PlacedAgenda: promises for any gang. Each is certified by a placement on what is free then,
// beside the placements of all other promises that overlap with it in time.
#pragma once

#include <memory>

#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"

namespace tephra {

// As Reservations::Begin.
std::unique_ptr<Agenda> MakePlacedAgenda(Workbench& now, Workbench& ahead,
                                         const std::vector<JobId>& standing);

}  // namespace tephra
