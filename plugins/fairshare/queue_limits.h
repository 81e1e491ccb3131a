// QueueLimits: a job may be placed if its queue is open and neither the queue nor a queue above it
// would exceed its limit (Volcano: capability). A job that is not preemptible stays within what its
// queues deserve, too. Immutable; any thread.
#pragma once

#include "engine/policy.h"

namespace tephra {

class QueueLimits final : public Entitlement {
 public:
  std::optional<Reason> Deny(const Ledger&, JobId, const Resources& extra,
                             const Resources& tried) const override;
};

}  // namespace tephra
