// The policies of the openb experiment (Weng et al., Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent, USENIX ATC 2023), with the rounding of
// the published simulator, so that its results can be compared bit for bit. FGD has its own file.
//
// Node points are whole points from 0 to 100. README.md has the formulas. Immutable; any thread.
#pragma once

#include "engine/policy.h"

namespace tephra {

// All policies but Random and FGD take the fullest device that fits.
class TightestDevice : public Score {
 public:
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t draw) const override;
};

// All nodes and devices score the same; use with ties: random.
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
