// Binpack and Spread: fill what is begun, or keep load apart, on nodes and on devices. One rule
// and its mirror; README.md has the formula and an example.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

class Binpack final : public Score {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t draw) const override;
};

class Spread final : public Score {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t draw) const override;
};

}  // namespace tephra
