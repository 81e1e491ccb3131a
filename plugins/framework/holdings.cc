#include "plugins/framework/holdings.h"

#include <vector>

namespace tephra {

Resources HoldingsOf(const TaskClass& cls, const Slices& slices) {
  Resources holds = cls.demand;
  if (!cls.needs_devices()) return holds;
  holds[kGpu] = holds[kGpuMemory] = 0;
  std::vector<DeviceCharge> charges;
  DeviceCharges(cls, slices, charges);
  for (const DeviceCharge& charge : charges) {
    holds[kGpu] += charge.compute;
    holds[kGpuMemory] += charge.memory_mib;
  }
  return holds;
}

}  // namespace tephra
