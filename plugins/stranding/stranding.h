// Stranding: rates a node by how much the task would cost expected pods there. README.md has the
// rule and an example. Immutable after construction; any thread.
//
// Worth(node) = 0.6 x scarce room - left + 0.01 x idle^2 / devices, in devices of compute, with
// room and `left` from Futures. The points fall with the worth that the task takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/policy.h"
#include "plugins/stranding/futures.h"
#include "plugins/stranding/scarcity.h"

namespace tephra {

class Stranding final : public Score {
 public:
  // Whether any expected pod requests devices.
  static bool Foresees(const std::vector<ExpectedPod>& expected);
  // REQUIRES: Foresees(expected).
  Stranding(const std::vector<ExpectedPod>& expected, const Scarcity& scarcity);
  Points Rate(const NodeView&, const TaskClass&) const override;
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t draw) const override;

 private:
  class Trial;
  const Futures& FuturesOf(const NodeView& view) const;
  std::optional<Points> RateWhole(const NodeView& view, const TaskClass& cls) const;
  static double UnbrokenWorth(double idle, std::size_t devices);
  double Worth(const NodeView& view, const Trial& trial) const;
  void PlaceShare(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
                  Trial& trial) const;

  std::vector<std::pair<std::string, Futures>> models_;  // named by pods
  Futures unnamed_;                                      // of all other models
};

}  // namespace tephra
