// A gang placed where its queue may hold it.
#pragma once

#include <functional>
#include <optional>

#include "engine/workbench.h"

namespace tephra {

struct Entitled {
  // kPlaced: charged to the ledger, and the queue may hold it. Else the ledger is as it was.
  Placer::Answer answer;
  // There is room, but what the gang takes there is more than the queue may hold.
  std::optional<Reason> denied;
  // Not proven: it was kept off whole models instead of having the part that its queue may hold.
  bool maybe_elsewhere = false;
};

// What the tasks really take is known only once they have their devices: of which models they are,
// how much memory those have. Where the queue may not hold as much of a model the gang is placed
// again without any device of that model, as far as it has a choice; at most once for each model.
//
// `place` answers as Placer::Place on the bench does.
Entitled PlaceEntitled(Workbench& bench, const GangAsk& ask,
                       const std::function<Placer::Answer(const GangAsk&)>& place);

}  // namespace tephra
