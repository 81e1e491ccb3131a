// The policies of the openb experiment (Weng et al., Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent, USENIX ATC 2023), with the rounding of
// the published simulator, so that its results can be compared bit for bit. FGD has its own file.
//
// Node points are whole points of 0 to 100. README.md has the formulas.
#pragma once

#include "plugins/framework/policy.h"

namespace tephra {

// On devices all but Random and FGD take the tightest that fits.
class TightestDevice : public Score {
 public:
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t draw) const override;
};

// Every node is as good as another, and so is every device; use with ties: random.
class RandomScore final : public Score {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override { return 0; }
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t draw) const override;
};

class DotProduct final : public TightestDevice {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
};

class GpuClustering final : public TightestDevice {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
};

class GpuPacking final : public TightestDevice {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
};

class BestFit final : public TightestDevice {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override;
};

}  // namespace tephra
