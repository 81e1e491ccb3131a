#include "plugins/fairshare/queue_limits.h"

#include <algorithm>
#include <bit>

namespace tephra {
namespace {

Reason Closed(Obstacle obstacle, const std::string& queue) {
  Reason reason;
  reason.obstacle = obstacle;
  reason.queue = queue;
  return reason;
}

// The queue with the largest unused guarantee of the kind, under `level` or anywhere. It is only
// needed for the reason, so it is looked up only after a denial.
std::string KeptFor(const Ledger& ledger, QueueId level, Kind k) {
  const QueueTree& queues = ledger.snapshot().queues();
  std::string most;
  std::int64_t kept = 0;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const QueueId id(q);
    if (!queues.present(id) || id == level || !queues.Under(id, level)) continue;
    const std::int64_t here = queues.spec(id).guarantee[k] - ledger.occupancy().queue_total(id)[k];
    const std::string& name = queues.spec(id).name;
    if (here > kept || (here == kept && here > 0 && name < most)) kept = here, most = name;
  }
  return most;
}

// Whether the request would take what is guaranteed to other queues, at some level of the tree.
std::optional<Reason> Kept(const Ledger& ledger, QueueId queue, const Resources& extra,
                           const Resources& tried) {
  const QueueTree& queues = ledger.snapshot().queues();
  const Occupancy& occupancy = ledger.occupancy();
  for (Kind k = 0; k < kMaxKinds; ++k) {
    const std::int64_t asked = extra[k] + tried[k];
    if (asked == 0) continue;
    // The growth of the claim of each level: none while a queue is within its guarantee.
    std::int64_t with = extra[k], without = -tried[k];
    for (QueueId up = queue;; up = queues.parent(up)) {
      if (!up.valid()) {
        const std::int64_t free = occupancy.free_total()[k] - extra[k];
        const std::int64_t kept = occupancy.kept_free()[k] + with - extra[k];
        if (kept <= std::max<std::int64_t>(free, 0)) break;
        Reason reason = Closed(Obstacle::kQueueGuarantee, "");
        reason.binding = k;
        // The free amount is below zero if foreign pods overcommit nodes.
        reason.limit = std::max<std::int64_t>(occupancy.free_total()[k] + tried[k], 0);
        reason.kept = kept;
        reason.kept_for = KeptFor(ledger, up, k);
        reason.asked = asked;
        return reason;
      }
      const std::int64_t now = occupancy.queue_claim(up)[k];
      with = occupancy.ClaimWith(queues, up, k, with) - now;
      without = occupancy.ClaimWith(queues, up, k, without) - now;
      if (with == without) break;
      const QueueSpec& spec = queues.spec(up);
      const bool limited = queues.present(up) && (spec.limited_kinds >> k & 1) != 0;
      if (limited && now + with > spec.limit[k]) {
        Reason reason = Closed(Obstacle::kQueueGuarantee, spec.name);
        reason.binding = k;
        reason.limit = spec.limit[k];
        reason.used = occupancy.queue_total(up)[k] - tried[k];
        reason.kept = now + with - occupancy.queue_total(up)[k] - extra[k];
        reason.kept_for = KeptFor(ledger, up, k);
        reason.asked = asked;
        return reason;
      }
    }
  }
  return std::nullopt;
}

// Whether the job, which is not preemptible, would use more than a queue deserves from which other
// queues may reclaim: they could never have back what they lend.
std::optional<Reason> Undeserved(const Ledger& ledger, QueueId queue, const Resources& extra,
                                 const Resources& tried) {
  const QueueTree& queues = ledger.snapshot().queues();
  // Nothing can be reclaimed from below a queue that is not reclaimable, either.
  for (QueueId up = queue; up.valid() && queues.spec(up).reclaimable; up = queues.parent(up)) {
    const QueueSpec& spec = queues.spec(up);
    const Resources& used = ledger.occupancy().queue_protected(up);
    for (KindSet kinds = queues.deserved_beside(up); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const std::int64_t quota = std::max(spec.deserved[k], spec.guarantee[k]);
      if (extra[k] + tried[k] == 0 || used[k] + extra[k] <= quota) continue;
      Reason reason = Closed(Obstacle::kQueueDeserved, spec.name);
      reason.binding = k;
      reason.limit = quota;
      reason.used = used[k] - tried[k];
      reason.asked = extra[k] + tried[k];
      return reason;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> QueueLimits::Deny(const Ledger& ledger, JobId id, const Resources& extra,
                                        const Resources& tried) const {
  const JobRow& job = ledger.snapshot().job(id);
  const QueueTree& queues = ledger.snapshot().queues();
  if (!job.queue.valid() || !queues.present(job.queue)) {
    return Closed(Obstacle::kQueueMissing, job.queue_name);
  }
  if (queues.spec(job.queue).state != QueueState::kOpen) {
    return Closed(Obstacle::kQueueClosed, job.queue_name);
  }
  for (QueueId up = job.queue; up.valid(); up = queues.parent(up)) {
    if (!queues.cycle(up).empty()) return Closed(Obstacle::kQueueCycle, queues.cycle(up));
  }
  if (queues.has_children(job.queue_name)) return Closed(Obstacle::kQueueParent, job.queue_name);
  // Before the limits: a job that this stops gets no reservation, whatever other jobs of the cycle take.
  const EngineConfig& config = ledger.snapshot().config();
  if (job.is_protected() && config.non_preemptible_quota == NonPreemptibleQuota::kDeserved) {
    if (auto reason = Undeserved(ledger, job.queue, extra, tried)) return reason;
  }
  for (QueueId up = job.queue; up.valid(); up = queues.parent(up)) {
    const QueueSpec& queue = queues.spec(up);
    const Resources& used = ledger.occupancy().queue_total(up);
    for (KindSet kinds = queue.limited_kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      // Only kinds that the job requests count.
      if (extra[k] + tried[k] == 0 || used[k] + extra[k] <= queue.limit[k]) continue;
      Reason reason = Closed(Obstacle::kQueueLimit, queue.name);
      reason.binding = k;
      reason.limit = queue.limit[k];
      reason.used = used[k] - tried[k];
      reason.asked = extra[k] + tried[k];
      return reason;
    }
  }
  if (!queues.guarantees()) return std::nullopt;
  return Kept(ledger, job.queue, extra, tried);
}

}  // namespace tephra
