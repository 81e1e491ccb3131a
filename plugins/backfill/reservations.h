// PlannedReservations: the first pending gangs, or all of them, have a reserved start, and no job
// goes ahead that would delay them: EASY backfilling (Lifka, JSSPP 1995) and conservative
// backfilling (Mu'alem and Feitelson, IEEE TPDS 2001), on devices and fractions of them.
//
// Reservations are made again in each cycle, in the order of turns. Run-time estimates are trusted;
// a job without one counts as running forever.
#pragma once

#include "engine/config.h"
#include "engine/policy.h"

namespace tephra {

class PlannedReservations final : public Reservations {
 public:
  explicit PlannedReservations(const ReservationSettings& config) : config_(config) {}

  std::unique_ptr<ReservationPlan> Begin(Workbench& now, Workbench& ahead,
                                      const Due& due,
                                      const std::vector<JobId>& standing,
                                      std::unique_ptr<ReservationMemory>& memory) const override;
  bool Reserves(std::int32_t before, std::int32_t in_queue) const override;
  bool ReservesAll() const override { return config_.mode == ReservationSettings::Mode::kAll; }
  // All reservations may shift.
  bool HelpsAnywhere(const Books&) const override { return ReservesAll(); }

 private:
  ReservationSettings config_;
};

}  // namespace tephra
