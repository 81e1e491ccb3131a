#include "tests/support/room.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "topology/mig.h"

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

// Every slice that a device of such hardware could give for the ask, whoever holds it.
Slices SlicesOf(const DeviceRequest& asked, const DeviceHardware& hardware) {
  Slice slice{0, 0, asked.mode(), asked.compute, asked.memory_mib};
  if (slice.mode == SliceMode::kWhole) slice.memory_mib = hardware.memory_mib;
  if (slice.mode != SliceMode::kMig) return {slice};
  Slices all;
  const MigModel* model = FindMigModel(hardware.mig_model);
  for (std::size_t p = 0; model != nullptr && p < model->profiles.size(); ++p) {
    const MigProfile& profile = model->profiles[p];
    if (profile.name != asked.mig_profile) continue;
    const std::string name(profile.name);
    const std::int64_t gigabytes = std::stoll(name.substr(name.find('.') + 1));
    slice.compute = 1000 * profile.compute_slices / model->compute_slices;
    slice.memory_mib = static_cast<std::int32_t>(gigabytes * 1'000'000'000 / (1 << 20));
    slice.mig_profile = static_cast<std::uint8_t>(p);
    for (int start = 0; start < 8; ++start) {
      slice.mig_start = static_cast<std::uint8_t>(start);
      if ((profile.starts & 1 << start) != 0) all.push_back(slice);
    }
  }
  return all;
}

bool IsInstance(Slice slice, const DeviceRequest& asked, const DeviceHardware& hardware) {
  slice.container = slice.device = 0;
  const Slices all = SlicesOf(asked, hardware);
  return std::find(all.begin(), all.end(), slice) != all.end();
}

// One task holds one device in two modes, at whatever times; whole and in part by the hook library
// is no matter.
bool MixesModes(const Slices& slices) {
  for (const Slice& a : slices) {
    for (const Slice& b : slices) {
      const bool by_hook = a.mode <= SliceMode::kFraction && b.mode <= SliceMode::kFraction;
      if (a.device == b.device && a.mode != b.mode && !by_hook) return true;
    }
  }
  return false;
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

// What a pod takes of one device at the peak of its life, each amount by itself.
struct Room::Share {
  std::int64_t compute = 0, memory = 0;
  std::array<int, kSliceModes> held{};
  std::array<int, 12> mig{};
  bool clash = false;  // one container has it whole while another has a part
  int fractions = 0;   // before or after one has it whole, too
};

// The dearest phase of each amount. `devices`: null where only amounts matter.
std::map<int, Room::Share> Room::DeviceShares(const PodTemplate& pod, const Slices& slices,
                                              const Devices* devices) {
  std::map<int, Share> peak;
  for (const Slice& slice : slices) peak[slice.device];
  const auto add_instance = [&](const Slice& slice, Share& share) {
    const bool there = devices != nullptr && slice.device < devices->size();
    const MigModel* model =
        there ? FindMigModel((*devices)[slice.device].hardware.mig_model) : nullptr;
    const MigProfile* profile = model != nullptr && slice.mig_profile < model->profiles.size()
                                    ? &model->profiles[slice.mig_profile]
                                    : nullptr;
    const bool placed =
        profile != nullptr && slice.mig_start < 8 && (profile->starts & 1 << slice.mig_start) != 0;
    for (int i = 0; i < 8; ++i) {
      const int from = slice.mig_start;
      if (!placed || (i >= from && i < from + profile->memory_slices)) {
        ++share.mig[static_cast<std::size_t>(i)];
      }
    }
    if (placed && profile->limit >= 0) ++share.mig[static_cast<std::size_t>(8 + profile->limit)];
  };
  for (const auto& phase : Phases(pod)) {
    std::map<int, Share> now;
    for (const Slice& slice : slices) {
      if (std::find(phase.begin(), phase.end(), slice.container) == phase.end()) continue;
      Share& share = now[slice.device];
      share.compute += slice.compute;
      share.memory += slice.memory_mib;
      ++share.held[static_cast<std::size_t>(slice.mode)];
      if (slice.mode == SliceMode::kMig) add_instance(slice, share);
    }
    for (const auto& [device, share] : now) {
      Share& most = peak[device];
      int at_once = 0;
      for (const int held : share.held) at_once += held;
      most.clash = most.clash || (share.held[0] > 0 && at_once > 1);
      most.compute = std::max(most.compute, share.compute);
      most.memory = std::max(most.memory, share.memory);
      for (std::size_t m = 0; m < kSliceModes; ++m) {
        most.held[m] = std::max(most.held[m], share.held[m]);
      }
      for (std::size_t i = 0; i < 12; ++i) most.mig[i] = std::max(most.mig[i], share.mig[i]);
    }
  }
  // Whole for one container, in part for others at other times: to everybody else it is whole.
  for (auto& [device, share] : peak) {
    share.fractions = share.held[1];
    if (share.held[0] > 0) share.held[1] = 0;
  }
  return peak;
}

// Empty if the device can give the share.
std::string Room::Breaks(const Device& device, const Share& share, std::uint32_t user_id) {
  const DeviceHardware& hardware = device.hardware;
  int modes = 0, mode = -1;
  for (int m = 0; m < static_cast<int>(kSliceModes); ++m) {
    const auto at = static_cast<std::size_t>(m);
    if (share.held[at] > 0) ++modes, mode = m;
  }
  if (modes == 0) return "";
  if (modes > 1 || share.clash) return "one task in two modes";
  if (!hardware.healthy) return "unhealthy";
  const bool in_parts = share.fractions > 0;
  if (in_parts && (hardware.modes & 2) == 0) return "not in fractions";
  if (in_parts && hardware.split_count > 0 && share.fractions > hardware.split_count) {
    return "split enough";
  }
  const int held = device.held[static_cast<std::size_t>(mode)];
  const int after = held + share.held[static_cast<std::size_t>(mode)];
  if ((hardware.modes >> mode & 1) == 0) return "not in this mode";
  for (int m = 0; m < static_cast<int>(kSliceModes); ++m) {
    if (m != mode && device.held[static_cast<std::size_t>(m)] > 0) return "in another mode";
  }
  std::int64_t compute = device.compute, memory = device.memory;
  if (mode > 1) {  // of what there is
    compute -= hardware.compute_factor - 1000;
    memory -=
        std::int64_t{hardware.memory_mib} * hardware.memory_factor / 1000 - hardware.memory_mib;
  }
  if (mode == 0 && (held > 0 || compute < 1000)) return "in use";
  if (share.compute > compute || share.memory > memory || compute < 0 || memory < 0) return "full";
  if (mode == 1 && hardware.split_count > 0 && after > hardware.split_count) return "split enough";
  if (mode == 3 && hardware.replicas > 0 && after > hardware.replicas) return "no replica";
  if (mode == 2) {
    if (after > hardware.mps_clients) return "too many clients";
    for (const auto& [user, clients] : device.mps_clients) {
      if (user != user_id && clients > 0) return "another user";
    }
  }
  for (std::size_t i = 0; i < 12 && mode == 4; ++i) {
    if (share.mig[i] > 0 && device.mig[i] + share.mig[i] > 1) return "no place";
  }
  return "";
}

void Room::Put(Device& device, const Share& share, std::uint32_t user_id, int sign) {
  device.compute -= sign * share.compute;
  device.memory -= sign * share.memory;
  for (std::size_t m = 0; m < kSliceModes; ++m) device.held[m] += sign * share.held[m];
  for (std::size_t i = 0; i < 12; ++i) device.mig[i] += sign * share.mig[i];
  if (share.held[2] == 0) return;
  int& clients = device.mps_clients[user_id];
  if ((clients += sign * share.held[2]) == 0) device.mps_clients.erase(user_id);
}

std::pair<std::int64_t, std::int64_t> Room::DeviceAmounts(const PodTemplate& pod,
                                                          const Slices& slices) {
  std::pair<std::int64_t, std::int64_t> sum{0, 0};
  for (const auto& [device, share] : DeviceShares(pod, slices, nullptr)) {
    sum.first += share.compute;
    sum.second += share.memory;
  }
  return sum;
}

Resources Room::DeviceAmounts(const PodTemplate& pod, const Slices& slices, const NodeSpec* node,
                              const ModelKinds& models) {
  Resources sum;
  for (const auto& [device, share] : DeviceShares(pod, slices, nullptr)) {
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
      Device& mine = node.devices.emplace_back();
      mine.hardware = device;
      if (!device.healthy) continue;
      mine.compute = device.compute_factor;
      mine.memory = std::int64_t{device.memory_mib} * device.memory_factor / 1000;
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
    for (const auto& [d, share] : DeviceShares(pod, slices, &node.devices)) {
      if (static_cast<std::size_t>(d) >= node.devices.size()) continue;
      Put(node.devices[static_cast<std::size_t>(d)], share, pod.user_id, sign);
    }
  }
}

std::int64_t Room::FreeOn(const Node& node, Kind kind) const {
  const auto named = std::find_if(models_.begin(), models_.end(),
                                  [&](const auto& model) { return model.second == kind; });
  if (kind != kGpu && named == models_.end()) return node.free[kind];
  std::int64_t free = 0;
  for (const Device& device : node.devices) {
    if (kind == kGpu || device.hardware.model == named->first) {
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
      const SliceMode mode = asked.mode();
      const bool whole = mode == SliceMode::kWhole;
      if (slice.mode != mode) return "another mode than asked";
      if (mode == SliceMode::kMig) {
        if (!IsInstance(slice, asked, device.hardware)) return "another instance than asked";
      } else if (slice.compute != asked.compute) {
        return "another compute share than asked";
      } else if (slice.memory_mib != (whole ? device.hardware.memory_mib : asked.memory_mib)) {
        return "another memory share than asked";
      }
      if (!DeviceAllowed(pod.constraints, device.hardware)) return "a device that it may not have";
    }
    if (given != asked.count || static_cast<int>(devices.size()) != given) {
      return "another number of devices than asked";
    }
  }
  for (const auto& [d, share] : DeviceShares(pod, slices, &node->devices)) {
    const std::string why = Breaks(node->devices[static_cast<std::size_t>(d)], share, pod.user_id);
    if (!why.empty()) return "device " + std::to_string(d) + ": " + why;
  }
  return MixesModes(slices) ? "one task in two modes" : "";
}

// Every way to give the pod's containers devices of the node, as the states that they leave.
std::vector<Room::Devices> Room::DeviceWays(const PodTemplate& pod, const Node& node) const {
  std::set<Devices> ways;
  const auto phases = Phases(pod);
  Slices slices;
  const auto possible = [&] {
    for (const auto& [d, share] : DeviceShares(pod, slices, &node.devices)) {
      const Device& device = node.devices[static_cast<std::size_t>(d)];
      if (!Breaks(device, share, pod.user_id).empty()) return false;
    }
    return !MixesModes(slices);
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
      for (const Slice& slice : SlicesOf(asked, device.hardware)) {
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
