// Fgd: fragmentation gradient descent. Put the task where the GPU that the expected pods could no
// longer use grows least (Weng et al., USENIX ATC 2023, with the published simulator's rounding).
//
// Fragment(node) = sum over expected pods m of share(m) x the idle compute that m cannot use there.
// Points = whole points of 100 x sigmoid((before - after) / 1000).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/framework/policy.h"

namespace tephra {

// A node as the formula sees it.
struct FragmentInput {
  std::int64_t free_cpu = 0;             // milli-cores
  std::span<std::int32_t> free_compute;  // per mille, by device
};

class FragmentTable {
 public:
  explicit FragmentTable(const std::vector<ExpectedPod>& expected);
  // Expected idle compute, per mille of a device, that is of no use on a node whose devices are of
  // `model`. The sum runs in the published order, so that doubles come out the same.
  double Fragment(const FragmentInput& node, const std::string& model) const;

 private:
  struct Pod {
    std::int64_t cpu;
    std::int32_t devices;
    std::uint32_t compute;  // index into computes_
    double share;
    bool cpu_only;
  };
  std::size_t ModelIndex(const std::string& model) const;

  std::vector<Pod> pods_;
  std::vector<std::int32_t> computes_;  // the different shares asked for
  std::vector<std::string> models_;     // that some pod names
  // By model as in models_ (one more for all others) and pod: whether the pod may use it.
  std::vector<std::vector<bool>> access_;
};

class Fgd final : public Score {
 public:
  explicit Fgd(const std::vector<ExpectedPod>& expected) : table_(expected) {}
  Points Rate(const NodeView&, const TaskClass&) const override;
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t draw) const override;

 private:
  FragmentTable table_;
};

}  // namespace tephra
