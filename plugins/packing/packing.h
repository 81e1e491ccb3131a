// Binpack and Spread: prefer full nodes and devices, or empty ones. One rule and its mirror.
// README.md has the formula and an example. Immutable; any thread.
#pragma once

#include "engine/policy.h"

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
