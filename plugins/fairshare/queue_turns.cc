#include "plugins/fairshare/queue_turns.h"

#include <bit>

#include "engine/gang_ask.h"
#include "plugins/fairshare/fair_shares.h"

namespace tephra {

void QueueTurns::UseShares() { shares_ = FairShares::SharesOf(snapshot_.books()); }

const Resources& QueueTurns::LeastOf(JobId id) {
  const ShapeId shape = ShapeOf(id);
  if (!shape.valid()) return least_of_one_ = LeastMissing(snapshot_, snapshot_.job(id));
  const auto [known, fresh] = least_.try_emplace(shape);
  if (fresh) known->second = LeastMissing(snapshot_, snapshot_.job(id));
  return known->second;
}

QueueTurn QueueTurns::Of(const Occupancy& occupancy, QueueId id, JobId next,
                         const Resources& reserved) {
  const QueueSpec& spec = snapshot_.queues().spec(id);
  QueueTurn turn;
  turn.minus_priority = -std::int64_t{spec.priority};
  turn.name = spec.name;
  turn.queue = id.value;
  if (shares_.empty()) return turn;
  Resources holds = occupancy.queue_total(id);
  holds.Add(reserved);
  const Resources& share = shares_[id.index()];
  turn.part = DominantPart(holds, share);
  const Resources& asked = LeastOf(next);
  holds.Add(asked);
  for (KindSet kinds = asked.NonZero(); kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    const bool above = share[k] != Share::kNotShared && holds[k] > share[k];
    turn.above_share = turn.above_share || above;
  }
  turn.part_with_next = DominantPart(holds, share);
  return turn;
}

}  // namespace tephra
