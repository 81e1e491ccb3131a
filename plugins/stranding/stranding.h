// Stranding: rates a node by how much the task would cost expected pods there. README.md has the
// rule and an example. Immutable after construction; any thread.
//
// Worth(node) = 0.2 x scarcity x idle + 0.07 x idle^2 / devices - left, in devices of compute, with
// `left` from Futures. The points fall with the worth that the task takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
  struct Model {
    std::string name;
    std::size_t futures = 0;  // index into futures_
    double scarcity = 0;      // 0 to 1
  };
  const Model& ModelOf(const NodeView& view) const;
  std::optional<Points> RateWhole(const NodeView& view, const TaskClass& cls) const;
  // Of the free compute `idle`, in devices, `left` is expected to stay free.
  static double WorthOf(const Model& model, double idle, std::size_t devices, double left);
  double Worth(const NodeView& view, const Trial& trial) const;
  void PlaceShare(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
                  Trial& trial) const;

  std::vector<Futures> futures_;
  std::vector<Model> models_;  // named by pods; the last one stands for all other models
};

}  // namespace tephra
