#include "tests/support/room.h"

#include <algorithm>
#include <set>
#include <unordered_set>

namespace tephra {
namespace {

// The containers that run at the same time, phase by phase: each init container beside the
// sidecars before it, and at last everything that stays.
std::vector<std::vector<std::size_t>> Phases(const PodTemplate& pod) {
  std::vector<std::vector<std::size_t>> phases;
  std::vector<std::size_t> staying;
  for (std::size_t c = 0; c < pod.containers.size(); ++c) {
    if (pod.containers[c].kind == ContainerKind::kSidecar) staying.push_back(c);
    if (pod.containers[c].kind == ContainerKind::kInit) {
      phases.push_back(staying);
      phases.back().push_back(c);
    }
  }
  for (std::size_t c = 0; c < pod.containers.size(); ++c) {
    if (pod.containers[c].kind == ContainerKind::kApp) staying.push_back(c);
  }
  phases.push_back(staying);
  return phases;
}

struct Share {
  std::int64_t compute = 0, memory = 0;
};

// What the slices take of each device, the dearest phase of each amount.
std::map<int, Share> DeviceShares(const PodTemplate& pod, const Slices& slices) {
  std::map<int, Share> peak;
  for (const Slice& slice : slices) peak[slice.device];
  for (const auto& phase : Phases(pod)) {
    std::map<int, Share> now;
    for (const Slice& slice : slices) {
      if (std::find(phase.begin(), phase.end(), slice.container) == phase.end()) continue;
      now[slice.device].compute += slice.compute;
      now[slice.device].memory += slice.memory_mib;
    }
    for (const auto& [device, share] : now) {
      peak[device].compute = std::max(peak[device].compute, share.compute);
      peak[device].memory = std::max(peak[device].memory, share.memory);
    }
  }
  return peak;
}

bool NeedsDevices(const PodTemplate& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerSpec& c) { return c.devices.count > 0; });
}

constexpr Kind kHostKinds[] = {kCpu, kMemory, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

}  // namespace

std::int64_t PeakOf(const PodTemplate& pod, Kind kind) {
  if (kind == kPods) return 1;
  std::int64_t peak = 0;
  for (const auto& phase : Phases(pod)) {
    std::int64_t now = 0;
    for (std::size_t c : phase) now += pod.containers[c].requests[kind];
    peak = std::max(peak, now);
  }
  return peak + pod.overhead[kind];
}

std::pair<std::int64_t, std::int64_t> Room::DeviceAmounts(const PodTemplate& pod,
                                                          const Slices& slices) {
  std::pair<std::int64_t, std::int64_t> sum{0, 0};
  for (const auto& [device, share] : DeviceShares(pod, slices)) {
    sum.first += share.compute;
    sum.second += share.memory;
  }
  return sum;
}

Resources Room::DeviceAmounts(const PodTemplate& pod, const Slices& slices, const NodeSpec* node,
                              const ModelKinds& models) {
  Resources sum;
  for (const auto& [device, share] : DeviceShares(pod, slices)) {
    const auto d = static_cast<std::size_t>(device);
    sum[kGpu] += share.compute;
    sum[kGpuMemory] += share.memory;
    if (node == nullptr || d >= node->devices.size()) continue;
    for (const auto& [model, kind] : models) {
      if (node->devices[d].model == model) sum[kind] += share.compute;
    }
  }
  return sum;
}

Room::Room(const std::map<std::string, NodeSpec>& nodes, const Masks* masks, ModelKinds models)
    : masks_(masks), models_(std::move(models)) {
  for (const auto& [name, spec] : nodes) {
    Node& node = nodes_.emplace_back(Node{&spec, spec.allocatable, {}});
    for (const DeviceHardware& device : spec.devices) {
      node.devices.push_back({device.model, device.memory_mib, device.healthy,
                              device.healthy ? 1000 : 0, device.healthy ? device.memory_mib : 0,
                              0});
    }
  }
}

std::string Room::DomainValue(const NodeSpec& spec, const std::string& key) {
  if (key == kHostnameKey) return spec.name;
  const auto label = spec.labels.find(key);
  return label == spec.labels.end() ? "" : "=" + label->second;
}

void Room::TakeHost(const PodTemplate& pod, Node& node, int sign) {
  for (Kind kind : kHostKinds) node.free[kind] -= sign * PeakOf(pod, kind);
  node.free[kPods] -= sign;
  for (const DomainLimit& limit : pod.limits) {
    const std::string value = DomainValue(*node.spec, limit.topology_key);
    if (value.empty()) continue;
    std::map<int, int>& held = held_[{limit.group, limit.topology_key, value}];
    if ((held[limit.max] += sign) == 0) held.erase(limit.max);
  }
}

void Room::Take(const PodTemplate& pod, const std::string& name, const Slices& slices, int sign) {
  for (Node& node : nodes_) {
    if (node.spec->name != name) continue;
    TakeHost(pod, node, sign);
    for (const auto& [d, share] : DeviceShares(pod, slices)) {
      if (static_cast<std::size_t>(d) >= node.devices.size()) continue;
      Device& device = node.devices[static_cast<std::size_t>(d)];
      device.compute -= sign * share.compute;
      device.memory -= sign * share.memory;
      device.users += sign;
    }
  }
}

std::int64_t Room::FreeOn(const Node& node, Kind kind) const {
  const auto named = std::find_if(models_.begin(), models_.end(),
                                  [&](const auto& model) { return model.second == kind; });
  if (kind != kGpu && named == models_.end()) return node.free[kind];
  std::int64_t free = 0;
  for (const Device& device : node.devices) {
    if (kind == kGpu || device.model == named->first) {
      free += std::max<std::int64_t>(device.compute, 0);
    }
  }
  return free;
}

std::int64_t Room::Free(Kind kind) const {
  std::int64_t free = 0;
  for (const Node& node : nodes_) free += FreeOn(node, kind);
  return free;
}

std::string Room::DevicesText(const std::string& name) const {
  std::string text;
  for (const Node& node : nodes_) {
    if (node.spec->name != name) continue;
    Devices devices = node.devices;
    std::sort(devices.begin(), devices.end());
    for (const Device& device : devices) {
      text += device.model + " " + std::to_string(device.memory_total) + " " +
              std::to_string(device.healthy) + ": " + std::to_string(device.compute) + "/" +
              std::to_string(device.memory) + "/" + std::to_string(device.users) + "; ";
    }
  }
  return text;
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
      if (row.free_compute == device.compute && row.free_memory_mib == device.memory &&
          row.users == device.users) {
        continue;
      }
      return node.spec->name + " device " + std::to_string(d) + ": compute " +
             std::to_string(row.free_compute) + ", by the facts " + std::to_string(device.compute);
    }
  }
  return hardware.ranked().size() < nodes_.size() ? "some node is missing" : "";
}

std::string Room::HostRefuses(const PodTemplate& pod, const Node& node) const {
  if (CheckNode(*node.spec, pod.constraints, NeedsDevices(pod)) != Ineligible::kNo) {
    return "the node is not eligible";
  }
  if (masks_ != nullptr && !pod.constraints.mask.empty()) {
    const auto mask = masks_->find(pod.constraints.mask);
    if (mask == masks_->end() || mask->second.contains(node.spec->name)) {
      return "mask " + pod.constraints.mask + " excludes it";
    }
  }
  for (Kind kind : kHostKinds) {
    const std::int64_t peak = PeakOf(pod, kind);
    if (peak > 0 && node.free[kind] < peak) {
      return "kind " + std::to_string(kind) + ": " + std::to_string(node.free[kind]) +
             " free, asked " + std::to_string(peak);
    }
  }
  if (node.free[kPods] < 1) return "no pod is free";
  for (const DomainLimit& limit : pod.limits) {
    const std::string value = DomainValue(*node.spec, limit.topology_key);
    if (value.empty()) continue;
    const auto held = held_.find({limit.group, limit.topology_key, value});
    if (held == held_.end()) continue;
    int count = 0, most = limit.max;
    for (const auto& [bound, tasks] : held->second) count += tasks, most = std::min(most, bound);
    if (count >= most) {
      return "group " + limit.group + " has " + std::to_string(count) + " in " + value;
    }
  }
  return "";
}

std::string Room::Refuses(const PodTemplate& pod, const std::string& name,
                          const Slices& slices) const {
  const auto node = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const Node& n) { return n.spec->name == name; });
  if (node == nodes_.end()) return "node " + name + " is not there";
  if (const std::string why = HostRefuses(pod, *node); !why.empty()) return name + ": " + why;
  for (std::size_t c = 0; c < pod.containers.size(); ++c) {
    const DeviceRequest& asked = pod.containers[c].devices;
    std::set<int> devices;
    int given = 0;
    for (const Slice& slice : slices) {
      if (slice.container != c) continue;
      ++given;
      devices.insert(slice.device);
      if (slice.device >= node->devices.size()) return "a device that is not there";
      const Device& device = node->devices[slice.device];
      const bool whole = asked.compute == 1000;
      if (slice.compute != asked.compute) return "another compute share than asked";
      if (slice.memory_mib != (whole ? device.memory_total : asked.memory_mib)) {
        return "another memory share than asked";
      }
      if ((slice.mode == SliceMode::kWhole) != whole) return "another mode than asked";
      if (whole && device.users > 0) return "a whole device that is in use";
      if (!device.healthy) return "an unhealthy device";
      if (!ModelAllowed(pod.constraints.device_models, device.model)) return "a wrong model";
    }
    if (given != asked.count || static_cast<int>(devices.size()) != given) {
      return "another number of devices than asked";
    }
  }
  for (const auto& [d, share] : DeviceShares(pod, slices)) {
    const Device& device = node->devices[static_cast<std::size_t>(d)];
    if (share.compute > device.compute || share.memory > device.memory) {
      return "device " + std::to_string(d) + " over-committed";
    }
  }
  return "";
}

// Every way to give the pod's containers devices of the node, as the states that they leave.
std::vector<Room::Devices> Room::DeviceWays(const PodTemplate& pod, const Node& node) const {
  std::set<Devices> ways;
  const auto phases = Phases(pod);
  Slices slices;
  const auto possible = [&] {
    for (const auto& [d, share] : DeviceShares(pod, slices)) {
      const Device& device = node.devices[static_cast<std::size_t>(d)];
      if (share.compute > device.compute || share.memory > device.memory) return false;
    }
    return true;
  };
  const auto give = [&](const auto& self, std::size_t container, int given,
                        std::size_t from) -> void {
    if (container == pod.containers.size()) {
      Devices after = node.devices;
      for (const auto& [d, share] : DeviceShares(pod, slices)) {
        Device& device = after[static_cast<std::size_t>(d)];
        device.compute -= share.compute;
        device.memory -= share.memory;
        ++device.users;
      }
      std::sort(after.begin(), after.end());  // equal cards are one as good as the other
      ways.insert(std::move(after));
      return;
    }
    const DeviceRequest& asked = pod.containers[container].devices;
    if (given == asked.count) return self(self, container + 1, 0, 0);
    for (std::size_t d = from; d < node.devices.size(); ++d) {
      const Device& device = node.devices[d];
      const bool whole = asked.compute == 1000;
      if (!device.healthy || (whole && device.users > 0)) continue;
      if (!ModelAllowed(pod.constraints.device_models, device.model)) continue;
      slices.push_back({static_cast<std::uint16_t>(container), static_cast<std::uint16_t>(d),
                        SliceMode::kFraction, asked.compute,
                        whole ? device.memory_total : asked.memory_mib});
      if (possible()) self(self, container, given + 1, d + 1);
      slices.pop_back();
    }
  };
  give(give, 0, 0, 0);
  return {ways.begin(), ways.end()};
}

std::size_t Room::WaysOn(const PodTemplate& pod, const std::string& name) const {
  for (const Node& node : nodes_) {
    if (node.spec->name == name && HostRefuses(pod, node).empty())
      return DeviceWays(pod, node).size();
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
      for (const Device& device : devices)
        add(device.compute), add(device.memory), add(device.users);
    }
    for (const auto& [domain, held] : room_.held_) {
      if (held.empty()) continue;
      key += std::get<0>(domain) + "|" + std::get<1>(domain) + "|" + std::get<2>(domain);
      for (const auto& [bound, count] : held) add(bound), add(count);
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
