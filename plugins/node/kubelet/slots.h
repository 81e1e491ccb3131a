// Slots: the device ids that the kubelet counts. A slot admits a container to the node and says
// nothing of which GPU it gets: that is settled when the container starts (binding/late_binding.h).
//
// The ids stay the same over restarts and reboots: after a reboot the kubelet admits a pod again
// only with the very ids that it had.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/node/gpu.h"

namespace tephra::node {

constexpr int kUsualSlotsPerGpu = 10;
constexpr int kMaxSlotsPerGpu = 100;

struct Slot {
  std::string id;  // "<gpu>-<n>"
  int gpu = 0;     // whose NUMA node it has; no more than that
  int numa = -1;   // -1: none
  bool healthy = true;

  bool operator==(const Slot&) const = default;
};

// Which GPUs are behind a slot now: the GPUs of its container.
using SlotGpus = std::map<std::string, std::set<std::size_t>>;

// The node's slots in a fixed order. An unhealthy GPU takes as many slots from the healthy ones
// as it stands for: first the slots whose containers use it, so that the kubelet reports these; then
// free slots, its own before other GPUs'. Held slots of containers that do not use it are left alone.
// REQUIRES: 1 <= per_gpu <= kMaxSlotsPerGpu.
std::vector<Slot> MakeSlots(const Gpus& gpus, int per_gpu, const SlotGpus& held);

// Which of `available` a container should get, `size` of them, those of `must` among them: all of
// one NUMA node where that can be, and always the same for the same question. Ids that are not
// known are not chosen; fewer than `size` where there are no more.
std::vector<std::string> PreferSlots(const std::vector<Slot>& slots,
                                       const std::vector<std::string>& available,
                                       const std::vector<std::string>& must, int size);

}  // namespace tephra::node
