// FairOrder: the order in which jobs get their turn.
//
// Incomplete gangs go first: their resources are idle until the gang is complete. An exception are
// incomplete gangs whose queue has a pending job of a higher priority.
//
// Then the queues take turns, from the top of the queue tree down:
//   1. a queue that stays within its fair share with its next job,
//   2. the queue with the higher priority,
//   3. the queue that uses the smaller part of its share now,
//   4. the queue that uses the smaller part of its share with its next job; for equal jobs this is
//      the queue with the larger share,
//   5. the queue whose name sorts first.
// Within a queue jobs are sorted by priority, by past usage of their users if it counts, by
// remaining work if EngineConfig::job_order says so, by creation time, and by uid.
//
// Usage counts at once: after each placed job its queues are compared again, as in dominant
// resource fairness (Ghodsi et al., NSDI 2011, and hierarchically, Bhattacharya et al., SoCC 2013).
// If every job has a reserved start, what it takes then counts at once, too. So the reservations of
// the queues alternate.
// The shares are computed once per cycle. Rule 4 settles ties as KAI-Scheduler does. Immutable; any
// thread.
#pragma once

#include "engine/policy.h"

namespace tephra {

class FairOrder final : public Order {
 public:
  bool Before(const Snapshot&, JobId a, JobId b) const override;
  // Priorities that grow with time may have changed the order.
  bool HelpsAnywhere(const Books& books) const override {
    return books.config.priority_boost_ms > 0;
  }
  std::unique_ptr<Line> LineUp(const Ledger&, const Due& due) const override;
  bool HasKeys(const EngineConfig& config) const override {
    return config.priority_boost_ms == 0 && config.usage_half_life_ms == 0;
  }
  OrderKey KeyOf(const Books&, const JobRow&) const override;
};

}  // namespace tephra
