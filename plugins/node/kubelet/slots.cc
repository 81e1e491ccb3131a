#include "plugins/node/kubelet/slots.h"

#include <algorithm>
#include <cstdlib>

namespace tephra::node {
namespace {

bool UsesUnhealthy(const std::set<std::size_t>& used, const Gpus& gpus) {
  return std::any_of(used.begin(), used.end(), [&](std::size_t gpu) {
    return gpu < gpus.devices.size() && !gpus.devices[gpu].hardware.healthy;
  });
}

}  // namespace

std::vector<Slot> MakeSlots(const Gpus& gpus, int per_gpu, const SlotGpus& held) {
  if (per_gpu < 1 || per_gpu > kMaxSlotsPerGpu) std::abort();
  std::vector<Slot> slots;
  int to_take = 0;
  for (std::size_t gpu = 0; gpu < gpus.devices.size(); ++gpu) {
    const Gpu& device = gpus.devices[gpu];
    if (!device.hardware.healthy) to_take += per_gpu;
    for (int n = 0; n < per_gpu; ++n) {
      slots.push_back({std::to_string(gpu) + "-" + std::to_string(n), static_cast<int>(gpu),
                         device.numa, true});
    }
  }
  for (Slot& slot : slots) {
    const auto used = held.find(slot.id);
    if (used == held.end() || !UsesUnhealthy(used->second, gpus)) continue;
    slot.healthy = false;
    --to_take;
  }
  const auto take_free = [&](bool own) {
    for (auto slot = slots.rbegin(); slot != slots.rend() && to_take > 0; ++slot) {
      const bool of_unhealthy =
          !gpus.devices[static_cast<std::size_t>(slot->gpu)].hardware.healthy;
      if (!slot->healthy || of_unhealthy != own || held.count(slot->id) > 0) continue;
      slot->healthy = false;
      --to_take;
    }
  };
  take_free(true);
  take_free(false);
  return slots;
}

std::vector<std::string> PreferSlots(const std::vector<Slot>& slots,
                                       const std::vector<std::string>& available,
                                       const std::vector<std::string>& must, int size) {
  const std::set<std::string> free(available.begin(), available.end());
  const std::set<std::string> wanted(must.begin(), must.end());
  std::vector<const Slot*> chosen, rest;
  std::map<int, int> free_on, wanted_on;
  for (const Slot& slot : slots) {
    if (wanted.count(slot.id) > 0) {
      chosen.push_back(&slot);
      ++wanted_on[slot.numa];
    } else if (free.count(slot.id) > 0) {
      rest.push_back(&slot);
      ++free_on[slot.numa];
    }
  }
  const int lacking = size - static_cast<int>(chosen.size());
  // The best node: where what must be is already, then where all of the rest fits, then where the
  // fewest are left over.
  const auto rank = [&](const Slot* slot) {
    const int there = free_on[slot->numa];
    const bool fits = there >= lacking;
    return std::make_tuple(-wanted_on[slot->numa], !fits, fits ? there : -there, slot->numa);
  };
  std::stable_sort(rest.begin(), rest.end(),
                   [&](const Slot* a, const Slot* b) { return rank(a) < rank(b); });
  std::vector<std::string> ids;
  for (const Slot* slot : chosen) ids.push_back(slot->id);
  for (const Slot* slot : rest) {
    if (static_cast<int>(ids.size()) >= size) break;
    ids.push_back(slot->id);
  }
  return ids;
}

}  // namespace tephra::node
