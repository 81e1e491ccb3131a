#include "topology/hardware.h"

#include <algorithm>
#include <bit>

#include "topology/base/check.h"

namespace tephra {
namespace {

std::vector<KindSet> ModelKindsOf(const NodeSpec& spec, const ModelKinds& models) {
  std::vector<KindSet> kinds;
  if (models.empty()) return kinds;
  KindSet any = 0;
  for (const DeviceHardware& device : spec.devices) {
    const auto model = models.find(device.model);
    kinds.push_back(model == models.end() ? 0 : KindSet{1} << model->second);
    any |= kinds.back();
  }
  if (any == 0) kinds.clear();
  return kinds;
}

Resources CapacityOf(const NodeSpec& spec, const std::vector<KindSet>& model_kinds) {
  Resources capacity = spec.allocatable;
  capacity[kGpu] = capacity[kGpuMemory] = 0;
  for (std::size_t d = 0; d < spec.devices.size(); ++d) {
    capacity[kGpu] += spec.devices[d].shareable_compute();
    capacity[kGpuMemory] += spec.devices[d].shareable_memory_mib();
    if (model_kinds.empty() || model_kinds[d] == 0) continue;
    capacity[static_cast<Kind>(std::countr_zero(model_kinds[d]))] +=
        spec.devices[d].shareable_compute();
  }
  return capacity;
}

// Everything that CheckNode looks at except for the name of the host. Lengths separate the fields.
std::string LikenessOf(const NodeSpec& spec) {
  std::string text(1, spec.unschedulable ? '1' : '0');
  const auto add = [&](const std::string& field) {
    text += std::to_string(field.size()) + ':' + field;
  };
  for (const auto& [key, value] : spec.labels) {
    if (key != kHostnameKey) add(key), add(value);
  }
  text += '|';
  for (const Taint& taint : spec.taints) {
    add(taint.key), add(taint.value);
    text += static_cast<char>('0' + static_cast<int>(taint.effect));
  }
  text += '|';
  const std::string* last = nullptr;
  for (const DeviceHardware& device : spec.devices) {
    if (last == nullptr || *last != device.model) add(device.model);
    last = &device.model;
  }
  return text;
}

}  // namespace

NodeId Hardware::Reserve(const std::string& name) {
  const auto [it, fresh] = by_name_.try_emplace(name, NodeId(nodes_.size()));
  if (fresh) {
    nodes_.emplace_back().spec.name = name;
    for (auto& [key, column] : keys_) column.by_node.push_back(kNoDomain);
  }
  return it->second;
}

NodeId Hardware::Upsert(const NodeSpec& spec, const ModelKinds& models) {
  const NodeId id = Reserve(spec.name);
  Node& node = nodes_[id.index()];
  if (node.present) {
    total_.Add(node.capacity, -1);
  } else {
    node.present = true;
    settled_ = false;
  }
  node.spec = spec;
  node.model_kinds = ModelKindsOf(spec, models);
  node.capacity = CapacityOf(spec, node.model_kinds);
  total_.Add(node.capacity);
  node.gpu_sets = spec.gpu_links.gpus() == 0 ? nullptr : gpu_sets_.Of(spec.gpu_links);
  if (spec.devices.size() > node.device_room) {
    node.first_device = device_rows_;
    node.device_room = spec.devices.size();
    device_rows_ += node.device_room;
  }
  node.usual_modes =
      std::all_of(spec.devices.begin(), spec.devices.end(), [](const DeviceHardware& device) {
        return device.modes == kUsualModes && device.split_count == 0;
      });
  node.mixed_models =
      std::any_of(spec.devices.begin(), spec.devices.end(), [&](DeviceHardware device) {
        // Memory and health do not count.
        device.memory_mib = spec.devices[0].memory_mib;
        device.healthy = spec.devices[0].healthy;
        return !SameHardware(device, spec.devices[0]);
      });
  node.mig.clear();
  for (const DeviceHardware& device : spec.devices) node.mig.push_back(mig_.Of(device.mig_model));
  const auto cut = [](const MigPlacements* table) { return table != nullptr; };
  if (std::none_of(node.mig.begin(), node.mig.end(), cut)) node.mig.clear();
  NumberLikeness(node);
  if (likeness_.size() > 2 * nodes_.size() + 1024) RenumberLikenesses();
  PlaceInDomains(id);
  ++version_;
  ++node.spec_version;
  return id;
}

void Hardware::NumberLikeness(Node& node) {
  node.likeness =
      likeness_.try_emplace(LikenessOf(node.spec), static_cast<std::uint32_t>(likeness_.size()))
          .first->second;
}

// Labels that change often leave unused numbers. The new order_version invalidates remembered
// numbers.
void Hardware::RenumberLikenesses() {
  likeness_.clear();
  for (Node& node : nodes_) {
    if (!node.present) continue;
    NumberLikeness(node);
    ++node.spec_version;
  }
  settled_ = false;
}

void Hardware::Remove(NodeId id) {
  Node& node = nodes_[id.index()];
  if (!node.present) return;
  total_.Add(node.capacity, -1);
  node.present = false;
  node.gpu_sets.reset();
  node.mig.clear();
  settled_ = false;
  ++version_;
}

NodeId Hardware::Find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() || !present(it->second) ? NodeId() : it->second;
}

void Hardware::Settle() {
  if (settled_) return;
  settled_ = true;
  ++order_version_;
  std::vector<const std::string*> names;
  for (const Node& node : nodes_) {
    if (node.present) names.push_back(&node.spec.name);
  }
  fabric_ = Fabric(domain_specs_, names);
  ranked_.clear();
  for (const std::string* name : names) {
    const NodeId id = by_name_.at(*name);
    nodes_[id.index()].rank = static_cast<std::uint32_t>(ranked_.size());
    ranked_.push_back(id);
  }
}

void Hardware::UpsertDomain(const DomainSpec& spec) {
  domain_specs_[spec.name] = spec;
  settled_ = false;
  ++version_;
}

void Hardware::RemoveDomain(const std::string& name) {
  if (domain_specs_.erase(name) == 0) return;
  settled_ = false;
  ++version_;
}

void Hardware::FollowKey(const std::string& key) {
  if (key == kHostnameKey || key == kClusterKey || keys_.contains(key)) return;
  keys_[key].by_node.assign(nodes_.size(), kNoDomain);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].present) PlaceInDomains(NodeId(i));
  }
}

std::uint32_t Hardware::domain(const std::string& key, NodeId id) const {
  if (key == kHostnameKey) return id.value;
  if (key == kClusterKey) return 0;
  const auto it = keys_.find(key);
  TEPHRA_CHECK(it != keys_.end());
  return it->second.by_node[id.index()];
}

void Hardware::PlaceInDomains(NodeId id) {
  const Labels& labels = nodes_[id.index()].spec.labels;
  for (auto& [key, column] : keys_) {
    const auto label = labels.find(key);
    column.by_node[id.index()] =
        label == labels.end()
            ? kNoDomain
            : column.values.try_emplace(label->second, column.values.size()).first->second;
  }
}

}  // namespace tephra
