// What the room holds as text, and how it differs from the books of an engine.
#include <algorithm>

#include "tests/support/room.h"

namespace tephra {

std::string Room::TextOf(Devices devices) {
  std::vector<std::string> texts;
  for (const Device& device : devices) {
    std::string& text = texts.emplace_back();
    text = device.hardware.model + " " + std::to_string(device.hardware.memory_mib) + " " +
           std::to_string(device.hardware.healthy) + std::to_string(device.hardware.modes) + ": " +
           std::to_string(device.compute) + "/" + std::to_string(device.memory);
    for (const int held : device.held) text += "/" + std::to_string(held);
    for (const int taken : device.mig) text += " " + std::to_string(taken);
    for (const auto& [user, clients] : device.mps_clients) text += " by " + std::to_string(user);
  }
  std::sort(texts.begin(), texts.end());
  std::string all;
  for (const std::string& text : texts) all += text + "; ";
  return all;
}

std::string Room::DevicesText(const std::string& name) const {
  for (const Node& node : nodes_) {
    if (node.spec->name == name) return TextOf(node.devices);
  }
  return "";
}

std::string Room::Differs(const Hardware& hardware, const Occupancy& occupancy) const {
  for (const Node& node : nodes_) {
    const NodeId id = hardware.Find(node.spec->name);
    if (!id.valid()) return node.spec->name + " is not known";
    const NodeView view = occupancy.View(hardware, id);
    for (Kind kind = 0; kind < kMaxKinds; ++kind) {
      if (kind == kGpuMemory || view.row.free[kind] == FreeOn(node, kind)) continue;
      return node.spec->name + " kind " + std::to_string(kind) + ": " +
             std::to_string(view.row.free[kind]) + ", by the facts " +
             std::to_string(FreeOn(node, kind));
    }
    for (std::size_t d = 0; d < node.devices.size(); ++d) {
      const Device& device = node.devices[d];
      const DeviceRow& row = view.devices[d];
      DeviceUse use;
      std::uint64_t slices = 0, limits = 0, users = 0;
      for (std::size_t m = 0; m < kSliceModes; ++m) {
        use.slices[m] = static_cast<std::uint16_t>(device.held[m]);
      }
      for (unsigned i = 0; i < 12; ++i) {
        const auto count = static_cast<std::uint64_t>(device.mig[i]);
        i < 8 ? slices += count << 4 * i : limits += count << 4 * (i - 8);
      }
      for (const auto& [user, clients] : device.mps_clients) {
        users += static_cast<std::uint64_t>(user) * static_cast<std::uint64_t>(clients);
      }
      use.mig_slices = static_cast<std::uint32_t>(slices);
      use.mig_limits = static_cast<std::uint16_t>(limits);
      use.mps_users = static_cast<std::uint32_t>(users);
      const bool amounts =
          row.free_compute == device.compute && row.free_memory_mib == device.memory;
      if (amounts && row.use == use) continue;
      if (amounts) return node.spec->name + " device " + std::to_string(d) + ": held otherwise";
      return node.spec->name + " device " + std::to_string(d) + ": compute " +
             std::to_string(row.free_compute) + ", by the facts " + std::to_string(device.compute);
    }
  }
  return hardware.ranked().size() < nodes_.size() ? "some node is missing" : "";
}

}  // namespace tephra
