#include "plugins/packing/packing.h"

#include <algorithm>
#include <bit>

namespace tephra {
namespace {

// GPUs count most on a GPU node, other kinds settle ties. 10 : 1 as in Volcano's binpack example.
constexpr std::int64_t WeightOf(Kind kind) { return kind == kGpu ? 10 : 1; }

// How full the node would be with the task: the weighted mean over the requested kinds.
Points Fullness(const NodeView& view, const TaskClass& cls) {
  std::int64_t sum = 0, weights = 0;
  const KindSet uncounted = 1u << kPods | cls.model_kinds;  // a model's GPUs are among the GPUs
  for (KindSet kinds = cls.demand_kinds & ~uncounted; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    const std::int64_t capacity = view.capacity[k];
    if (capacity <= 0) continue;
    const std::int64_t after =
        std::clamp<std::int64_t>(capacity - view.row.free[k] + cls.demand[k], 0, capacity);
    // In steps of a millionth, so that the product stays within 64 bits for petabytes.
    sum += WeightOf(k) *
           static_cast<std::int64_t>(static_cast<__int128>(after) * kMaxPoints / capacity);
    weights += WeightOf(k);
  }
  const Points fullness = weights == 0 ? 0 : static_cast<Points>(sum / weights);
  // A task without GPUs strands no GPU on a node without free GPUs.
  if (!cls.needs_devices() && view.row.free[kGpu] > 0) return fullness / 2;
  if (!cls.needs_devices()) return kMaxPoints / 2 + fullness / 2;
  return fullness;
}

// How full the device is now: the mean of compute and memory.
Points DeviceFullness(const NodeView& view, int device) {
  const DeviceRow& row = view.devices[static_cast<std::size_t>(device)];
  const DeviceHardware& hardware = view.spec.devices[static_cast<std::size_t>(device)];
  const std::int64_t compute = hardware.compute_factor;
  const std::int64_t memory = std::max<std::int64_t>(
      std::int64_t{hardware.memory_mib} * hardware.memory_factor / kNoFactor, 1);
  const std::int64_t free_compute = std::clamp<std::int64_t>(row.free_compute, 0, compute);
  const std::int64_t free_memory = std::clamp<std::int64_t>(row.free_memory_mib, 0, memory);
  return static_cast<Points>((compute - free_compute) * (kMaxPoints / 2) / compute +
                             (memory - free_memory) * (kMaxPoints / 2) / memory);
}

}  // namespace

Points Binpack::Rate(const NodeView& view, const TaskClass& cls) const {
  return Fullness(view, cls);
}

Points Binpack::RateDevice(const NodeView& view, const TaskClass&, const DeviceAsk&, int device,
                           std::uint64_t) const {
  return DeviceFullness(view, device);
}

Points Spread::Rate(const NodeView& view, const TaskClass& cls) const {
  return kMaxPoints - Fullness(view, cls);
}

Points Spread::RateDevice(const NodeView& view, const TaskClass&, const DeviceAsk&, int device,
                          std::uint64_t) const {
  return kMaxPoints - DeviceFullness(view, device);
}

}  // namespace tephra
