// VictimCost: a task is left alone while it or its job is not preemptible or its least run time is
// not over; else it costs the weighted sum of what is configured:
//   priority   the higher, the dearer: the task's own, or else its job's
//   share      the less its queue holds above its fair share, the dearer
//   lost-work  GPU time since it started or last saved what it has done
//   restarts   how often its job was evicted before
#pragma once

#include <string>
#include <vector>

#include "plugins/framework/policy.h"

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
