// VictimCost: the cost of evicting a task. A task stays if it or its job is not preemptible, or if
// its minimum run time is not over. Otherwise the cost is the weighted sum of the configured parts:
//   priority        the higher the priority of the task, or else of its job, the higher the cost
//   queue-priority  the higher the priority of its queue, the higher the cost
//   share           the less its queue uses beyond its fair share, the higher the cost
//   lost-work       GPU time since the task started or last saved a checkpoint
//   restarts        how often its job was evicted before
//   time-left       the shorter the remaining run time of its job, the higher the cost
//
// Immutable; any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/policy.h"

namespace tephra {

class VictimCost final : public Victims {
 public:
  // REQUIRES: each name is one of VictimCostNames().
  explicit VictimCost(const EngineConfig& config);
  std::optional<std::int64_t> Cost(const Snapshot&, const Share::Answer&, TaskId) const override;

 private:
  using Part = std::int64_t (*)(const Snapshot&, const Share::Answer&, const TaskRow&);
  struct Weighted {
    Part part;
    std::int64_t weight;
  };
  std::vector<Weighted> parts_;
};

std::vector<std::string> VictimCostNames();

}  // namespace tephra
