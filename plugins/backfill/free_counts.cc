#include "plugins/backfill/free_counts.h"

#include <algorithm>
#include <limits>

namespace tephra {

FreeCounts::FreeCounts(const Hardware& hardware, const Occupancy& occupancy) {
  for (const NodeId id : hardware.ranked()) {
    if (id.index() >= cpu_.size()) {
      cpu_.resize(id.index() + 1);
      compute_.resize(id.index() + 1);
    }
    const std::size_t end = hardware.first_device(id) + hardware.device_count(id);
    if (end > device_.size()) device_.resize(end);
    Load(hardware, occupancy, id);
  }
}

void FreeCounts::Load(const Hardware& hardware, const Occupancy& occupancy, NodeId node) {
  cpu_[node.index()] = occupancy.node(node).free[kCpu];
  compute_[node.index()] = 0;
  const NodeView view = occupancy.View(hardware, node);
  for (std::size_t i = 0; i < view.devices.size(); ++i) {
    const std::int64_t free = view.devices[i].free_compute;
    device_[hardware.first_device(node) + i] = free;
    compute_[node.index()] += std::max<std::int64_t>(free, 0);
  }
}

std::int64_t FreeCounts::Copies(const CountedNeed& need, std::size_t node, const CountedNeed& gone) const {
  std::int64_t copies = std::numeric_limits<std::int32_t>::max();
  const auto limit = [&](std::int64_t free, std::int64_t each) {
    if (each > 0) copies = std::min(copies, std::max<std::int64_t>(free, 0) / each);
  };
  limit(cpu_[node] - gone.cpu, need.cpu);
  limit(compute_[node] - gone.compute, need.compute);
  return copies;
}

void FreeCounts::Add(const Taken& taken, int sign) {
  if (taken.node >= cpu_.size()) return;
  cpu_[taken.node] += sign * taken.cpu;
  for (const DevicePart& part : taken.parts) {
    std::int64_t& free = device_[part.device];
    const std::int64_t before = std::max<std::int64_t>(free, 0);
    free += sign * part.compute;
    compute_[taken.node] += std::max<std::int64_t>(free, 0) - before;
  }
}

CountedNeed NeedOf(const TaskClass& cls) { return {cls.demand[kCpu], cls.demand[kGpu]}; }

FreeCounts::Taken TakenBy(const Hardware& hardware, const TaskClass& cls, NodeId node,
                          const Slices& slices) {
  FreeCounts::Taken taken;
  taken.node = static_cast<std::uint32_t>(node.index());
  if (!hardware.present(node)) return taken;
  taken.cpu = cls.demand[kCpu];
  std::vector<DeviceCharge> charges;
  DeviceCharges(cls, slices, hardware.mig(node), charges);
  for (const DeviceCharge& charge : charges) {
    if (charge.device >= hardware.device_count(node)) continue;
    const std::size_t device = hardware.first_device(node) + charge.device;
    taken.parts.push_back({static_cast<std::uint32_t>(device), charge.compute});
  }
  return taken;
}

}  // namespace tephra
