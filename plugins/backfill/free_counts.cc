#include "plugins/backfill/free_counts.h"

#include <algorithm>
#include <limits>

namespace tephra {

FreeCounts::FreeCounts(const Ledger& ledger) {
  const Hardware& hardware = ledger.snapshot().hardware();
  for (const NodeId id : hardware.ranked()) {
    if (id.index() >= cpu_.size()) {
      cpu_.resize(id.index() + 1);
      compute_.resize(id.index() + 1);
    }
    cpu_[id.index()] = ledger.occupancy().node(id).free[kCpu];
    const NodeView view = ledger.occupancy().View(hardware, id);
    const std::size_t first = hardware.first_device(id);
    if (first + view.devices.size() > device_.size()) device_.resize(first + view.devices.size());
    for (std::size_t i = 0; i < view.devices.size(); ++i) {
      const std::int64_t free = view.devices[i].free_compute;
      device_[first + i] = free;
      compute_[id.index()] += std::max<std::int64_t>(free, 0);
    }
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
