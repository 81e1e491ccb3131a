// ProtectAll: nobody is evicted for anybody. The answer to Victims until reclaim and preemption
// are configured.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class ProtectAll final : public Victims {
 public:
  std::optional<std::int64_t> Cost(const Snapshot&, TaskId, JobId) const override {
    return std::nullopt;
  }
};

}  // namespace tephra
