// Fgd: fragmentation gradient descent (Weng et al., USENIX ATC 2023, with the rounding of the
// published simulator). Prefers the node where the compute that expected pods cannot use grows
// least. Immutable after construction; any thread.
//
// Fragment(node) = sum over expected pods m of share(m) x the idle compute that m cannot use there.
// Points = whole points of 100 x sigmoid((before - after) / 1000).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/policy.h"

namespace tephra {

// A node as the formula sees it.
struct FragmentInput {
  std::int64_t free_cpu = 0;             // milli-cores
  std::span<std::int32_t> free_compute;  // per mille, by device
};

class FragmentTable {
 public:
  explicit FragmentTable(const std::vector<ExpectedPod>& expected);
  // The expected unusable idle compute, in per mille of a device, of a node with devices of
  // `model`. The sum has the published order, so that doubles are equal.
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
  std::vector<std::int32_t> computes_;  // the different requested shares
  std::vector<std::string> models_;     // named by pods
  // By model as in models_, and one more for all other models, and by pod: may the pod use it?
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
