#include "tests/support/room.h"

#include <algorithm>

#include "tests/support/slice_rules.h"

namespace tephra {
namespace {

bool NeedsDevices(const PodTemplate& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const ContainerSpec& c) { return c.devices.count > 0; });
}

}  // namespace

std::int64_t PeakOf(const PodTemplate& pod, Kind kind) {
  if (kind == kPods) return 1;
  std::int64_t peak = 0;
  for (const auto& phase : slice_rules::Phases(pod)) {
    std::int64_t now = 0;
    for (std::size_t c : phase) now += pod.containers[c].requests[kind];
    peak = std::max(peak, now);
  }
  return peak + pod.overhead[kind];
}

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
  for (const auto& phase : slice_rules::Phases(pod)) {
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
  // Whole for one container and in part for another one at another time: other pods see it whole.
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
  if (key == kClusterKey) return "all";
  const auto label = spec.labels.find(key);
  return label == spec.labels.end() ? "" : "=" + label->second;
}

void Room::TakeHost(const PodTemplate& pod, Node& node, int sign) {
  for (Kind kind : kHostKinds) node.free[kind] -= sign * PeakOf(pod, kind);
  node.free[kPods] -= sign;
  for (const DomainLimit& limit : pod.limits) {
    if (limit.own > 0 || !limit.shared.empty()) {
      auto& places = places_[{limit.group, node.spec->name}];
      places[""] += sign * limit.own;
      for (const std::string& name : limit.shared) places[name] += sign;
      std::erase_if(places, [](const auto& place) { return place.second == 0; });
      continue;
    }
    const std::string value = DomainValue(*node.spec, limit.topology_key);
    if (value.empty()) continue;
    auto& held = held_[{limit.group, limit.topology_key, value}];
    auto& [tasks, counted] = held[limit.max];
    tasks += sign, counted += limit.counted ? sign : 0;
    if (tasks == 0) held.erase(limit.max);
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

std::pair<int, bool> Room::PlacesWith(const DomainLimit& limit, const Node& node) const {
  std::set<std::string> names(limit.shared.begin(), limit.shared.end());
  int taken = limit.own;
  bool takes = limit.own > 0;
  std::size_t known = 0;
  const auto places = places_.find({limit.group, node.spec->name});
  if (places != places_.end()) {
    for (const auto& [name, count] : places->second) {
      if (name.empty()) {
        taken += count;
      } else if (!names.insert(name).second) {
        ++known;
      }
    }
  }
  takes = takes || known < limit.shared.size();
  return {taken + static_cast<int>(names.size()), takes};
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
    if (limit.own > 0 || !limit.shared.empty()) {
      const auto [taken, takes] = PlacesWith(limit, node);
      const auto bound = node.spec->limits.find(limit.group);
      if (!takes || bound == node.spec->limits.end() || taken <= bound->second) continue;
      return "group " + limit.group + " would take " + std::to_string(taken) + " of " +
             std::to_string(bound->second) + " places";
    }
    const std::string value = DomainValue(*node.spec, limit.topology_key);
    if (value.empty()) continue;
    const auto held = held_.find({limit.group, limit.topology_key, value});
    if (held == held_.end()) continue;
    int count = limit.counted ? 1 : 0, most = limit.max;
    for (const auto& [bound, tasks] : held->second) {
      count += tasks.second;
      if (limit.counted) most = std::min(most, bound);
    }
    if (count > most) {
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
        if (!slice_rules::IsInstance(slice, asked, device.hardware)) return "another instance than asked";
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
  return slice_rules::MixesModes(slices) ? "one task in two modes" : "";
}

}  // namespace tephra
