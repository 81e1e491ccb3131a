// What queues may hold, and what is kept for them.
#include <algorithm>
#include <bit>

#include "engine/verify.h"

namespace tephra {

Verifier::Before Verifier::BeforeOf(Side& side, QueueId queue) const {
  Before before;
  for (QueueId up = queue; up.valid(); up = snapshot_->queues().parent(up)) {
    before.queue_extra.push_back(side.queue_extra[up]);
    before.protected_extra.push_back(side.protected_extra[up]);
    before.claims.push_back(side.claim_extra[up].claims);
  }
  before.top_claims = side.top_extra.claims;
  return before;
}

std::string Verifier::CheckQueue(Side& side, const Before& before, JobId job) {
  const QueueTree& queues = snapshot_->queues();
  std::size_t level = 0;
  for (QueueId up = snapshot_->job(job).queue; up.valid(); up = queues.parent(up)) {
    const QueueSpec& queue = queues.spec(up);
    const Resources& extra_before = before.queue_extra[level++];
    if (!queues.present(up) || queue.limited_kinds == 0) continue;
    const Resources& extra = side.queue_extra[up];
    for (KindSet kinds = queue.limited_kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const std::int64_t after = snapshot_->occupancy().queue_total(up)[k] + extra[k];
      if (extra[k] > extra_before[k] && after > queue.limit[k]) {
        return "queue " + queue.name + " would hold " + snapshot_->books().kinds.Name(k) + " " +
               Numbers(after, queue.limit[k]);
      }
    }
  }
  return "";
}

// Jobs that are not preemptible take no more than queues deserve from which other queues may reclaim.
std::string Verifier::CheckDeserved(Side& side, const Before& before, JobId job) const {
  if (snapshot_->config().non_preemptible_quota != NonPreemptibleQuota::kDeserved) return "";
  const QueueTree& queues = snapshot_->queues();
  std::size_t level = 0;
  for (QueueId up = snapshot_->job(job).queue; up.valid(); up = queues.parent(up)) {
    if (!queues.present(up) || !queues.spec(up).reclaimable) return "";
    const Resources& extra_before = before.protected_extra[level++];
    const Resources& extra = side.protected_extra[up];
    const QueueSpec& queue = queues.spec(up);
    for (KindSet kinds = queues.deserved_beside(up); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const std::int64_t quota = std::max(queue.deserved[k], queue.guarantee[k]);
      const std::int64_t after = snapshot_->occupancy().queue_protected(up)[k] + extra[k];
      if (extra[k] > extra_before[k] && after > quota) {
        return "jobs that are not preemptible would hold more than queue " + queue.name +
               " deserves of " + snapshot_->books().kinds.Name(k) + ": " + Numbers(after, quota);
      }
    }
  }
  return "";
}

// Nothing that is kept for one queue is taken by another.
std::string Verifier::CheckKept(Side& side, const Before& before, const Decision& decision) {
  const QueueTree& queues = snapshot_->queues();
  const Occupancy& occupancy = snapshot_->occupancy();
  for (Kind k = 0; k < kMaxKinds; ++k) {
    const std::string& kind =
        k < snapshot_->books().kinds.size() ? snapshot_->books().kinds.Name(k) : std::string();
    std::size_t level = 0;
    for (QueueId up = snapshot_->job(decision.job).queue; up.valid(); up = queues.parent(up)) {
      const QueueSpec& queue = queues.spec(up);
      const std::int64_t more_before = before.claims[level++][k];
      if (!queues.present(up) || (queue.limited_kinds >> k & 1) == 0) continue;
      const std::int64_t more = side.claim_extra[up].claims[k];
      const std::int64_t after = occupancy.queue_claim(up)[k] + more;
      if (more > more_before && after > queue.limit[k]) {
        return "queue " + queue.name + " would hold or keep for other queues " + kind + " " +
               Numbers(after, queue.limit[k]);
      }
    }
    const std::int64_t free = occupancy.free_total()[k] + side.free_extra[k];
    const std::int64_t kept =
        occupancy.kept_free()[k] + side.top_extra.claims[k] - side.top_extra.holds[k];
    if (side.top_extra.claims[k] > before.top_claims[k] && kept > std::max<std::int64_t>(free, 0)) {
      return "the cluster would keep for other queues " + kind + " " + Numbers(kept, free) +
             " free";
    }
  }
  return "";
}

}  // namespace tephra
