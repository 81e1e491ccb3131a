#include "plugins/backfill/reservations.h"

#include "plugins/backfill/count_agenda.h"
#include "plugins/backfill/placed_agenda.h"

namespace tephra {

std::unique_ptr<Agenda> PlannedReservations::Begin(Workbench& now, Workbench& ahead,
                                                   const std::vector<JobId>& due,
                                                   const std::vector<JobId>& standing) const {
  auto counted = MakeCountAgenda(now, due, standing);
  return counted != nullptr ? std::move(counted) : MakePlacedAgenda(now, ahead, standing);
}

bool PlannedReservations::Promises(std::int32_t before, std::int32_t in_queue) const {
  if (config_.mode == Backfill::Mode::kConservative) return true;
  return (config_.per_queue ? in_queue : before) < config_.reservations;
}

}  // namespace tephra
