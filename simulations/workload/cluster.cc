// The section `cluster`: a number of equal nodes, a list of hosts, or a list of nodes.
#include <algorithm>
#include <limits>

#include "simulations/workload/sections.h"
#include "text/device_sharing.h"
#include "topology/links_text.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostGpus = 1024;  // on one node

// A common machine with eight GPUs; the number of pods is the kubelet's default.
Resources UsualAmounts() {
  Resources amounts;
  amounts[kCpu] = 96'000;
  amounts[kMemory] = 768 * 1024 * kMiB;
  amounts[kPods] = 110;
  return amounts;
}
constexpr std::int32_t kUsualDeviceMiB = 80 * 1024;

void ReadDeviceMemory(Fields& fields, const std::string& key, std::int32_t& mib) {
  std::int64_t bytes = 0;
  const Item item = fields.At(key);
  if (item.node == nullptr || !ReadQuantity(item, bytes, 1)) return;
  if (bytes / kMiB > std::numeric_limits<std::int32_t>::max()) {
    item.Wrong("at most 2Pi");
    return;
  }
  mib = static_cast<std::int32_t>(bytes / kMiB);
}

DeviceHardware ReadDevice(const Item& item) {
  DeviceHardware device;
  device.memory_mib = kUsualDeviceMiB;
  Fields fields(item);
  fields.Text("model", device.model);
  fields.Text("uuid", device.uuid);
  ReadDeviceMemory(fields, "memory", device.memory_mib);
  fields.Switch("healthy", device.healthy);
  ReadDeviceSharing(fields, device);
  ReadMigModel(fields, device);
  fields.Done();
  return device;
}

// `gpus: 8`, or `gpus: { count, model, memory, modes... }`.
std::vector<DeviceHardware> ReadGpus(const Item& item) {
  DeviceHardware device;
  device.memory_mib = kUsualDeviceMiB;
  std::int64_t count = 0;
  if (item.node->kind == Yaml::Kind::kMap) {
    Fields fields(item);
    fields.Need("count");
    fields.Whole("count", count, 0, kMostGpus);
    fields.Text("model", device.model);
    ReadDeviceMemory(fields, "memory", device.memory_mib);
    ReadDeviceSharing(fields, device);
    ReadMigModel(fields, device);
    fields.Done();
  } else {
    ReadWhole(item, count, 0, kMostGpus);
  }
  return std::vector<DeviceHardware>(static_cast<std::size_t>(count), device);
}

// `gpu_links`: what nvidia-smi topo -m prints on such a node.
void ReadLinks(const Item& item, NodeSpec& node) {
  std::string text;
  if (item.node == nullptr || !ReadText(item, text)) return;
  auto links = ParseLinks(text, node.devices.empty() ? "" : node.devices[0].model);
  if (!links.ok()) {
    return item.Wrong("the matrix of nvidia-smi topo -m: " + std::string(links.status().message()));
  }
  if (static_cast<std::size_t>(links->gpus()) != node.devices.size()) {
    return item.Wrong("links between " + std::to_string(node.devices.size()) + " GPUs");
  }
  node.gpu_links = *std::move(links);
}

Taint ReadTaint(const Item& item) {
  Taint taint;
  int effect = 0;
  Fields fields(item);
  fields.Need("key");
  fields.Text("key", taint.key);
  fields.Text("value", taint.value);
  fields.OneOf("effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect);
  fields.Done();
  taint.effect = static_cast<TaintEffect>(effect);
  return taint;
}

// The memory of a node and its devices, estimated, here and in the engine.
std::int64_t BytesOf(const NodeSpec& node) {
  constexpr std::int64_t kNode = 4096, kDevice = 512, kLimit = 128;
  return kNode + kDevice * static_cast<std::int64_t>(node.devices.size()) +
         kLimit * static_cast<std::int64_t>(node.limits.size());
}

void AddNode(Sections& sections, const Item& item, NodeSpec node, std::vector<NodeSpec>& nodes) {
  node.labels.try_emplace(kHostnameKey, node.name);
  for (const DeviceHardware& device : node.devices) sections.models.insert(device.model);
  // Sums over the cluster stay within 64 bits.
  sections.capacity.Add(node.allocatable);
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if (sections.capacity[kind] > 1000 * std::int64_t{1'000'000'000'000'000}) {
      item.Wrong("at most 10^18 of a resource in total; " + sections.kinds.Name(kind) +
                 " exceeds it");
    }
  }
  if (static_cast<std::int64_t>(nodes.size()) >= Sections::kMostNodes) {
    item.Wrong("at most " + std::to_string(Sections::kMostNodes) + " nodes");
    return;
  }
  nodes.push_back(std::move(node));
}

}  // namespace

void ReadNodes(Sections& sections, const Item& item, bool known_may_come_again,
               std::vector<NodeSpec>& nodes) {
  NodeSpec node;
  node.allocatable = UsualAmounts();
  std::int64_t count = 1;
  Fields fields(item);
  fields.Need("name");
  fields.Text("name", node.name);
  fields.Whole("count", count, 1, Sections::kMostNodes);
  sections.ReadAmounts(fields, node.allocatable);
  fields.Whole("pods", node.allocatable[kPods], 0);
  const Item gpus = fields.At("gpus"), devices = fields.At("devices");
  if (gpus.node != nullptr) node.devices = ReadGpus(gpus);
  if (devices.node != nullptr) {
    if (gpus.node != nullptr) devices.Wrong("either gpus or devices, not both");
    ReadList(devices, [&](const Item& one) { node.devices.push_back(ReadDevice(one)); });
    if (node.devices.size() > static_cast<std::size_t>(kMostGpus)) {
      devices.Wrong("at most " + std::to_string(kMostGpus));
    }
  }
  ReadLinks(fields.At("gpu_links"), node);
  fields.Map("labels", [&](const std::string& key, const Item& value) {
    if (value.node->kind != Yaml::Kind::kText) return value.Wrong("text");
    node.labels[key] = value.node->text;
  });
  fields.List("taints", [&](const Item& taint) { node.taints.push_back(ReadTaint(taint)); });
  fields.Map("limits", [&](const std::string& group, const Item& places) {
    std::int64_t most = 0;
    ReadWhole(places, most, 0, std::numeric_limits<std::int32_t>::max());
    node.limits[group] = static_cast<std::int32_t>(most);
  });
  fields.Switch("unschedulable", node.unschedulable);
  fields.Done();
  const bool numbered = fields.Has("count");
  if (!item.wrong->ok() || !sections.Reserve(item, count, BytesOf(node))) return;
  for (std::int64_t i = 0; i < count && item.wrong->ok(); ++i) {
    NodeSpec one = node;
    if (numbered) one.name.append("-").append(std::to_string(i));
    if (!known_may_come_again) {
      Sections::Once(sections.nodes, one.name, fields.line(), item.path + ".name", *item.wrong);
    }
    AddNode(sections, item, std::move(one), nodes);
  }
}

void ReadCluster(Sections& sections, Fields& fields, std::vector<NodeSpec>& nodes,
                 std::vector<DomainSpec>& domains) {
  const Item list = fields.Need("nodes");
  if (list.node == nullptr) return;
  if (list.node->kind == Yaml::Kind::kList) {
    ReadList(list, [&](const Item& one) { ReadNodes(sections, one, false, nodes); });
    return;
  }
  std::int64_t per_node = 0;
  DeviceHardware device;
  device.memory_mib = kUsualDeviceMiB;
  NodeSpec node;
  node.allocatable = UsualAmounts();
  std::vector<std::string> names;
  if (list.node->kind == Yaml::Kind::kMap) {
    names = ReadHostList(sections, list, domains);
  } else {
    std::int64_t count = 0;
    ReadWhole(list, count, 0, Sections::kMostNodes);
    for (std::int64_t i = 0; i < count; ++i) names.push_back("n-" + std::to_string(i));
  }
  fields.Whole("gpus_per_node", per_node, 0, kMostGpus);
  fields.Text("gpu_model", device.model);
  ReadDeviceMemory(fields, "gpu_memory", device.memory_mib);
  sections.ReadAmounts(fields, node.allocatable);
  fields.Whole("pods", node.allocatable[kPods], 0);
  node.devices.assign(static_cast<std::size_t>(per_node), device);
  ReadLinks(fields.At("gpu_links"), node);
  if (!list.wrong->ok() ||
      !sections.Reserve(fields.item(), static_cast<std::int64_t>(names.size()), BytesOf(node))) {
    return;
  }
  for (const std::string& name : names) {
    if (!list.wrong->ok()) break;
    NodeSpec one = node;
    one.name = name;
    sections.nodes.insert(one.name);
    AddNode(sections, list, std::move(one), nodes);
  }
}

}  // namespace tephra
