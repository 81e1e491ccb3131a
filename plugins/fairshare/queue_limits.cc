#include "plugins/fairshare/queue_limits.h"

#include <bit>

namespace tephra {

std::optional<Reason> QueueLimits::Deny(const Ledger& ledger, JobId id, const Resources& extra,
                                        const Resources& tried) const {
  const JobRow& job = ledger.snapshot().job(id);
  const QueueTree& queues = ledger.snapshot().queues();
  Reason reason;
  reason.queue = job.queue_name;
  if (!job.queue.valid() || !queues.present(job.queue)) {
    reason.obstacle = Obstacle::kQueueMissing;
    return reason;
  }
  if (queues.spec(job.queue).state != QueueState::kOpen) {
    reason.obstacle = Obstacle::kQueueClosed;
    return reason;
  }
  for (QueueId up = job.queue; up.valid(); up = queues.parent(up)) {
    const QueueSpec& queue = queues.spec(up);
    const Resources& used = ledger.occupancy().queue_total(up);
    for (KindSet kinds = queue.limited_kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      // Only what the job asks for can make it worse.
      if (extra[k] + tried[k] == 0 || used[k] + extra[k] <= queue.limit[k]) continue;
      reason.obstacle = Obstacle::kQueueLimit;
      reason.queue = queue.name;
      reason.binding = k;
      reason.limit = queue.limit[k];
      reason.used = used[k] - tried[k];
      reason.asked = extra[k] + tried[k];
      return reason;
    }
  }
  return std::nullopt;
}

}  // namespace tephra
