// PriorityOrder: higher priority first, then who waits longer, then the smaller uid.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class PriorityOrder final : public Order {
 public:
  bool Before(const Snapshot& snapshot, JobId a, JobId b) const override {
    const JobRow& x = snapshot.job(a);
    const JobRow& y = snapshot.job(b);
    if (x.priority != y.priority) return x.priority > y.priority;
    if (x.created != y.created) return x.created < y.created;
    return x.uid < y.uid;
  }
};

}  // namespace tephra
