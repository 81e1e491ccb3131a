// LinksScore: a pod that takes several whole GPUs goes where those that it would get are best
// linked. README.md has the formula and an example.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class LinksScore final : public Score {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
  // Which of a node's GPUs go together is Fit's to choose: all alike.
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int,
                    std::uint64_t) const override {
    return 0;
  }
};

}  // namespace tephra
