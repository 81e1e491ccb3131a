// QueueLimits: a job may be placed while its queue is open and neither the queue nor any queue
// above it would pass its limit (Volcano: capability).
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class QueueLimits final : public Entitlement {
 public:
  std::optional<Reason> Deny(const Ledger&, JobId, const Resources& extra,
                             const Resources& tried) const override;
};

}  // namespace tephra
