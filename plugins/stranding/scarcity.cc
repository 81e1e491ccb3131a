#include "plugins/stranding/scarcity.h"

#include <algorithm>

namespace tephra {
namespace {

std::map<std::string, std::int64_t> DevicesByModel(const Hardware& hardware) {
  std::map<std::string, std::int64_t> devices;
  for (std::size_t slot = 0; slot < hardware.slots(); ++slot) {
    const NodeId node(slot);
    if (!hardware.present(node)) continue;
    auto of = devices.end();  // a node's devices are mostly of one model
    for (const DeviceHardware& device : hardware.spec(node).devices) {
      if (!device.healthy) continue;
      if (of == devices.end() || of->first != device.model) {
        of = devices.try_emplace(device.model, 0).first;
      }
      ++of->second;
    }
  }
  return devices;
}

}  // namespace

Scarcity ScarcityOf(const std::vector<ExpectedPod>& expected, const Hardware& hardware) {
  double asked = 0;
  bool named = false;
  for (const ExpectedPod& pod : expected) {
    asked += pod.share * pod.devices * pod.compute;
    named = named || !pod.models.empty();
  }
  if (!named || asked <= 0) return {};
  const auto devices = DevicesByModel(hardware);
  double all = 0;
  for (const auto& [model, count] : devices) all += static_cast<double>(count);
  std::map<std::string, double> wanted;
  for (const ExpectedPod& pod : expected) {
    if (pod.models.empty()) continue;
    double usable = 0;
    for (const auto& [model, count] : devices) {
      if (ModelAllowed(pod.models, model)) usable += static_cast<double>(count);
    }
    if (usable == 0) continue;
    for (const auto& [model, count] : devices) {
      if (!ModelAllowed(pod.models, model)) continue;
      wanted[model] += pod.share * pod.devices * pod.compute / asked * all / usable;
    }
  }
  Scarcity scarcity;
  for (const auto& [model, part] : wanted) {
    const auto steps = static_cast<std::int32_t>(std::min(part, 1.0) * kWhollyScarce + 0.5);
    if (steps > 0) scarcity[model] = steps;
  }
  return scarcity;
}

}  // namespace tephra
