// LinksScore: rates nodes for a pod with several whole GPUs by the links between the GPUs that the
// pod would get. README.md has the formula and an example. Immutable; any thread.
#pragma once

#include "engine/policy.h"

namespace tephra {

class LinksScore final : public Score {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
  // Fit chooses which GPUs of a node go together, so all devices score the same.
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int,
                    std::uint64_t) const override {
    return 0;
  }
};

}  // namespace tephra
