// CountPlan: reservations where counts are the whole truth. All that waits, and all that is
// expected to end, are tasks of one class, whole or a fraction of a device or none: then each that
// ends makes room for just one more, wherever it was, and it does not matter which task lies where.
#pragma once

#include <memory>
#include <vector>

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

// Null where counts do not do. As Reservations::Begin.
std::unique_ptr<ReservationPlan> MakeCountPlan(Workbench& now, const Due& due,
                                            const std::vector<JobId>& standing);

}  // namespace tephra
