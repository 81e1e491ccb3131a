#include "engine/holdings.h"

#include <bit>
#include <vector>

namespace tephra {

Resources HoldingsOf(const Hardware& hardware, const TaskClass& cls, NodeId node,
                     const Slices& slices) {
  Resources holds = cls.demand;
  if (!cls.needs_devices()) return holds;
  holds[kGpu] = holds[kGpuMemory] = 0;
  if (cls.model_kinds != 0) holds.amount[std::countr_zero(cls.model_kinds)] = 0;
  const std::vector<KindSet>& models = hardware.model_kinds(node);
  std::vector<DeviceCharge> charges;
  DeviceCharges(cls, slices, {}, charges);  // amounts alone
  for (const DeviceCharge& charge : charges) {
    holds[kGpu] += charge.compute;
    holds[kGpuMemory] += charge.memory_mib;
    // Of what model a device was that the node has no longer is not known.
    if (charge.device >= models.size() || models[charge.device] == 0) continue;
    holds.amount[std::countr_zero(models[charge.device])] += charge.compute;
  }
  return holds;
}

}  // namespace tephra
