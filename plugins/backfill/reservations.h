// PlannedReservations: the first gangs that wait, or all of them, are promised a start, and nobody
// goes ahead who would make them late: EASY backfilling (Lifka, JSSPP 1995) and conservative
// backfilling (Mu'alem and Feitelson, IEEE TPDS 2001), on devices and fractions of them.
//
// Promises are made anew in each cycle, in the order of turns. How long a job is expected to run is
// believed; one of which nobody knows that runs for ever.
#pragma once

#include "plugins/framework/config.h"
#include "plugins/framework/policy.h"

namespace tephra {

class PlannedReservations final : public Reservations {
 public:
  explicit PlannedReservations(const Backfill& config) : config_(config) {}

  std::unique_ptr<Agenda> Begin(Workbench& now, Workbench& ahead, const std::vector<JobId>& due,
                                const std::vector<JobId>& standing) const override;
  bool Promises(std::int32_t before, std::int32_t in_queue) const override;

 private:
  Backfill config_;
};

}  // namespace tephra
