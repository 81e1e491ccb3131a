#include "plugins/node/device_rules.h"

#include "text/device_sharing.h"

namespace tephra::node {
namespace {

DeviceRule ReadRule(const Item& item) {
  DeviceRule rule;
  Fields fields(item);
  std::int64_t index = 0;
  if (fields.Whole("index", index, 0, static_cast<std::int64_t>(kMaxDevices))) {
    rule.index = static_cast<std::size_t>(index);
  }
  fields.Text("uuid", rule.uuid);
  fields.Text("model", rule.model);
  fields.Switch("reserved", rule.reserved);
  DeviceHardware device;
  ReadDeviceSharing(fields, device);
  rule.modes = device.modes;
  rule.split_count = device.split_count;
  rule.mps_clients = device.mps_clients;
  rule.replicas = device.replicas;
  rule.compute_factor = device.compute_factor;
  rule.memory_factor = device.memory_factor;
  fields.Done();
  return rule;
}

}  // namespace

absl::StatusOr<std::vector<DeviceRule>> ReadDeviceRules(const std::string& path) {
  TEPHRA_ASSIGN_OR_RETURN(const Yaml::Ptr root, ReadYaml(path));
  std::vector<DeviceRule> rules;
  Diagnosis wrong(path);
  Fields fields({root.get(), "", &wrong});
  fields.List("devices", [&](const Item& item) { rules.push_back(ReadRule(item)); });
  fields.Done();
  if (!wrong.ok()) return wrong.status();
  return rules;
}

}  // namespace tephra::node
