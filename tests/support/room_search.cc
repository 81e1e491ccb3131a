// The search of the room: whether any placement of a gang exists, by brute force.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "tests/support/room.h"
#include "tests/support/slice_rules.h"

namespace tephra {
// Every way to give the pod's containers devices of the node, as the states that they leave.
std::vector<Room::Devices> Room::DeviceWays(const PodTemplate& pod, const Node& node) const {
  std::set<Devices> ways;
  const auto phases = slice_rules::Phases(pod);
  Slices slices;
  const auto possible = [&] {
    for (const auto& [d, share] : DeviceShares(pod, slices, &node.devices)) {
      const Device& device = node.devices[static_cast<std::size_t>(d)];
      if (!Breaks(device, share, pod.user_id).empty()) return false;
    }
    return !slice_rules::MixesModes(slices);
  };
  const auto give = [&](const auto& self, std::size_t container, int given,
                        std::size_t from) -> void {
    if (container == pod.containers.size()) {
      Devices after = node.devices;
      for (const auto& [d, share] : DeviceShares(pod, slices, &node.devices)) {
        Put(after[static_cast<std::size_t>(d)], share, pod.user_id, +1);
      }
      std::sort(after.begin(), after.end());  // equal cards are one as good as the other
      ways.insert(std::move(after));
      return;
    }
    const DeviceRequest& asked = pod.containers[container].devices;
    if (given == asked.count) return self(self, container + 1, 0, 0);
    for (std::size_t d = from; d < node.devices.size(); ++d) {
      const Device& device = node.devices[d];
      if (!DeviceAllowed(pod.constraints, device.hardware)) continue;
      for (const Slice& slice : slice_rules::SlicesOf(asked, device.hardware)) {
        slices.push_back(slice);
        slices.back().container = static_cast<std::uint16_t>(container);
        slices.back().device = static_cast<std::uint16_t>(d);
        if (possible()) self(self, container, given + 1, d + 1);
        slices.pop_back();
      }
    }
  };
  give(give, 0, 0, 0);
  return {ways.begin(), ways.end()};
}

std::size_t Room::WaysOn(const PodTemplate& pod, const std::string& name) const {
  for (const Node& node : nodes_) {
    if (node.spec->name != name || !HostRefuses(pod, node).empty()) continue;
    std::set<std::string> ways;
    for (const Devices& after : DeviceWays(pod, node)) ways.insert(TextOf(after));
    return ways.size();
  }
  return 0;
}

class Room::Search {
 public:
  Search(Room room, const GangWish& gang) : room_(std::move(room)), gang_(gang) {}

  bool Place(std::size_t r, int placed, int total, std::size_t from) {
    if (r == gang_.roles.size()) return total >= gang_.least;
    const RoleWish& role = gang_.roles[r];
    if (!failed_.insert(Key(r, placed, total, from)).second) return false;
    if (placed >= role.least && Place(r + 1, 0, total, 0)) return true;
    if (placed == role.most || (placed >= role.least && total >= gang_.least)) return false;
    for (std::size_t n = from; n < room_.nodes_.size(); ++n) {
      Node& node = room_.nodes_[n];
      if (!room_.HostRefuses(role.pod, node).empty()) continue;
      const Devices before = node.devices;
      for (Devices& after : room_.DeviceWays(role.pod, node)) {
        room_.TakeHost(role.pod, node, +1);
        node.devices = std::move(after);
        const bool done = Place(r, placed + 1, total + 1, n);
        node.devices = before;
        room_.TakeHost(role.pod, node, -1);
        if (done) return true;
      }
    }
    return false;
  }

 private:
  // All that the rest of the search depends on.
  std::string Key(std::size_t r, int placed, int total, std::size_t from) const {
    std::string key;
    const auto add = [&](std::int64_t value) {
      key.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    add(static_cast<std::int64_t>(r)), add(placed), add(total),
        add(static_cast<std::int64_t>(from));
    for (const Node& node : room_.nodes_) {
      for (Kind kind : kHostKinds) {
        if (node.spec->allocatable[kind] != 0) add(node.free[kind]);
      }
      add(node.free[kPods]);
      Devices devices = node.devices;
      std::sort(devices.begin(), devices.end());
      for (const Device& device : devices) {
        add(device.compute), add(device.memory);
        for (const int held : device.held) add(held);
        for (const int taken : device.mig) add(taken);
        for (const auto& [user, clients] : device.mps_clients) add(user), add(clients);
      }
    }
    for (const auto& [domain, held] : room_.held_) {
      if (held.empty()) continue;
      key += std::get<0>(domain) + "|" + std::get<1>(domain) + "|" + std::get<2>(domain);
      for (const auto& [bound, tasks] : held) add(bound), add(tasks.first), add(tasks.second);
    }
    for (const auto& [at, places] : room_.places_) {
      if (places.empty()) continue;
      key += "|" + at.first + "|" + at.second;
      for (const auto& [name, count] : places) key += "|" + name, add(count);
    }
    return key;
  }

  Room room_;
  const GangWish& gang_;
  std::unordered_set<std::string> failed_;
};

bool Room::AnyPlacement(const GangWish& gang) const {
  return Search(*this, gang).Place(0, 0, 0, 0);
}

}  // namespace tephra
