#include "plugins/backfill/reservations.h"

#include "plugins/backfill/count_plan.h"
#include "plugins/backfill/placed_plan.h"

namespace tephra {

std::unique_ptr<ReservationPlan> PlannedReservations::Begin(Workbench& now, Workbench& ahead,
                                                         const Due& due,
                                                         const std::vector<JobId>& standing,
                                                         std::unique_ptr<ReservationMemory>& memory) const {
  auto counted = MakeCountPlan(now, due, standing);
  return counted != nullptr ? std::move(counted) : MakePlacedPlan(now, ahead, standing, memory);
}

bool PlannedReservations::Reserves(std::int32_t before, std::int32_t in_queue) const {
  if (ReservesAll()) return true;
  return (config_.per_queue ? in_queue : before) < config_.count;
}

}  // namespace tephra
