// RentOrBuy: a job that evicts jobs of other queues may lose no more of their work than a part of
// what it gains.
//
// The gain of a job is its size times the time that it has waited. For each victim it is at most
// its size times the time that the victim would still run, because then the room comes back without
// an eviction. A victim loses its size times the work since its last checkpoint and the cost of a
// restart. Each earlier eviction of its job doubles that.
//
// The rule that a loss is worth a wait of the same size is the rent-or-buy rule (Karlin, Manasse,
// Rudolph, Sleator, Algorithmica 1988). `max_loss_percent` is stricter, because the victim waits in turn.
//
// Immutable; any thread.
#pragma once

#include "engine/config.h"
#include "engine/policy.h"

namespace tephra {

class RentOrBuy final : public EvictionWorth {
 public:
  explicit RentOrBuy(const LossSettings& config) : config_(config) {}
  LossLimit LimitFor(const Snapshot&, JobId, const Resources& asked, bool in_quota) const override;
  std::int64_t LossOf(const Snapshot&, TaskId, TimeMs at) const override;

 private:
  LossSettings config_;
};

}  // namespace tephra
