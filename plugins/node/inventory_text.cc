// The texts of Inventory.
#include <algorithm>
#include <cctype>
#include <sstream>

#include <nlohmann/json.hpp>

#include "plugins/node/cards.h"
#include "plugins/node/inventory.h"

namespace tephra::node {
namespace {

using InventoryJson = nlohmann::ordered_json;

constexpr const char* kModeNames[kSliceModes] = {"whole", "fraction", "mps", "timeSlice", "mig"};
constexpr std::size_t kMaxLabel = 63;

InventoryJson DeviceJson(const Gpus& gpus, std::size_t index) {
  const DeviceHardware& hardware = gpus.devices[index].hardware;
  InventoryJson device;
  if (!hardware.uuid.empty()) device["uuid"] = hardware.uuid;
  device["model"] = hardware.model;
  device["memoryMiB"] = hardware.memory_mib;
  // Readers that do not know `reserved` see a GPU that takes no pod.
  device["healthy"] = hardware.healthy && !gpus.devices[index].reserved;
  if (gpus.devices[index].reserved) device["reserved"] = true;
  const int d = static_cast<int>(index);
  if (gpus.links.gpus() == static_cast<int>(gpus.devices.size()) && d > 0) {
    InventoryJson& links = device["links"] = InventoryJson::array();
    for (int before = 0; before < d; ++before) links.push_back(LinkName(gpus.links.at(d, before)));
  }
  if (gpus.devices[index].numa >= 0) device["numa"] = gpus.devices[index].numa;
  if (hardware.modes != kUsualModes && hardware.modes != 0) {
    InventoryJson& modes = device["modes"] = InventoryJson::array();
    for (std::size_t mode = 0; mode < kSliceModes; ++mode) {
      if (hardware.may(static_cast<SliceMode>(mode))) modes.push_back(kModeNames[mode]);
    }
  }
  const auto unless = [&](const char* name, std::int32_t value, std::int32_t usual) {
    if (value != usual) device[name] = value;
  };
  unless("splitCount", hardware.split_count, 0);
  unless("mpsClients", hardware.mps_clients, kUsualMpsClients);
  unless("replicas", hardware.replicas, 0);
  unless("computeFactor", hardware.compute_factor, kNoFactor);
  unless("memoryFactor", hardware.memory_factor, kNoFactor);
  if (!hardware.mig_model.empty()) device["migModel"] = hardware.mig_model;
  return device;
}

// A label's value: letters, digits, "-", "_" and ".", the first and the last of them no sign.
std::string LabelValue(std::string text) {
  for (char& c : text) {
    const bool fine = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    if (!fine) c = '-';
  }
  text.resize(std::min(text.size(), kMaxLabel));
  const auto sign = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
  while (!text.empty() && sign(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), sign));
  return text;
}

}  // namespace

absl::StatusOr<std::string> FormatInventory(const Gpus& gpus) {
  InventoryJson json;
  json["version"] = 1;
  json["devices"] = InventoryJson::array();
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    json["devices"].push_back(DeviceJson(gpus, i));
  }
  std::string text = json.dump(-1, ' ', false, InventoryJson::error_handler_t::replace);
  if (text.size() > kMaxInventoryBytes) {
    return absl::ResourceExhaustedError("the inventory takes " + std::to_string(text.size()) +
                                        " bytes, more than " + std::to_string(kMaxInventoryBytes));
  }
  return text;
}

std::string FormatVgpuRegister(const Gpus& gpus, const NodeConfig& config) {
  std::string text;
  for (const Gpu& gpu : gpus.devices) {
    const DeviceHardware& hardware = gpu.hardware;
    std::string model = "NVIDIA-" + hardware.model;
    std::replace_if(
        model.begin(), model.end(), [](char c) { return c == ',' || c == ':'; }, '-');
    const int sharers = hardware.split_count > 0 ? hardware.split_count : config.slots_per_gpu;
    text += hardware.uuid + ',' + std::to_string(sharers) + ',' +
            std::to_string(hardware.memory_mib) + ',' + model + ',' +
            (hardware.healthy && !gpu.reserved ? "true" : "false") + ',' +
            (hardware.modes == Only(SliceMode::kMig) ? "mig" : "hami-core") + ':';
  }
  return text;
}

std::map<std::string, std::string> FeatureLabels(const Gpus& gpus, const std::string& driver,
                                                 int cuda) {
  std::map<std::string, std::string> labels;
  if (gpus.devices.empty()) return labels;
  const Gpu& first = gpus.devices.front();
  const auto set = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) labels["nvidia.com/" + name] = LabelValue(value);
  };
  set("gpu.count", std::to_string(gpus.devices.size()));
  set("gpu.product", first.hardware.model);
  set("gpu.memory", std::to_string(first.hardware.memory_mib));
  if (first.cuda_major > 0) {
    set("gpu.family", std::string(CardFamily(first.cuda_major, first.cuda_minor)));
    set("gpu.compute.major", std::to_string(first.cuda_major));
    set("gpu.compute.minor", std::to_string(first.cuda_minor));
  }
  set("mig.capable", first.hardware.mig_model.empty() && !first.mig_mode ? "false" : "true");
  set("mps.capable", first.hardware.may(SliceMode::kMps) ? "true" : "false");
  if (!driver.empty()) {
    set("cuda.driver-version.full", driver);
    std::stringstream parts(driver);
    for (const char* part : {"major", "minor", "revision"}) {
      std::string number;
      if (std::getline(parts, number, '.')) {
        set("cuda.driver-version." + std::string(part), number);
      }
    }
  }
  if (cuda > 0) {
    const int major = cuda / 1000, minor = cuda % 1000 / 10;
    set("cuda.runtime-version.major", std::to_string(major));
    set("cuda.runtime-version.minor", std::to_string(minor));
    set("cuda.runtime-version.full", std::to_string(major) + '.' + std::to_string(minor));
  }
  return labels;
}

}  // namespace tephra::node
