#include "plugins/node/gpu_file.h"

#include <set>

#include <nlohmann/json.hpp>

#include "base/bad_input.h"
#include "plugins/node/file.h"
#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxGpuFileBytes = 1u << 20;
constexpr std::int64_t kMostMib = std::int64_t{1} << 30;

// Reads members of one object, and keeps the first error.
class GpuFields {
 public:
  GpuFields(const std::string& file, std::string at, const json& from)
      : file_(file), at_(std::move(at)), from_(from) {}

  std::int64_t Number(const char* key, std::int64_t usual, std::int64_t least, std::int64_t most) {
    const auto value = from_.find(key);
    if (value == from_.end()) return usual;
    if (value->is_number_integer() && *value >= least && *value <= most) return *value;
    Wrong(key, value->dump(),
          "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return usual;
  }
  std::string Text(const char* key) {
    const auto value = from_.find(key);
    if (value == from_.end()) return "";
    if (value->is_string()) return value->get<std::string>();
    Wrong(key, value->dump(), "a text");
    return "";
  }
  bool Flag(const char* key, bool usual) {
    const auto value = from_.find(key);
    if (value == from_.end()) return usual;
    if (value->is_boolean()) return value->get<bool>();
    Wrong(key, value->dump(), "true or false");
    return usual;
  }
  SliceModes Modes(const char* key) {
    const auto value = from_.find(key);
    if (value == from_.end()) return kUsualModes;
    SliceModes modes = 0;
    for (const json& word : *value) {
      for (std::size_t m = 0; m < kSliceModes; ++m) {
        const auto mode = static_cast<SliceMode>(m);
        if (word == ModeWord(mode)) modes = static_cast<SliceModes>(modes | Only(mode));
      }
    }
    if (modes == 0) Wrong(key, value->dump(), "a list of modes");
    return modes;
  }
  void Wrong(const char* key, const std::string& value, const std::string& expected) {
    if (status_.ok()) status_ = BadInput(file_, 0, at_ + key, value, expected);
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string& file_;
  const std::string at_;
  const json& from_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Gpus> ParseGpuFile(const std::string& name, std::string_view text) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object() || !all.contains("devices") || !all["devices"].is_array()) {
    return BadInput(name, 0, "", text, "a JSON object with a list of devices");
  }
  Gpus gpus;
  std::set<std::string> uuids;
  for (const json& from : all["devices"]) {
    const std::size_t place = gpus.devices.size();
    const std::string at = "devices[" + std::to_string(place) + "]";
    if (!from.is_object()) return BadInput(name, 0, at, from.dump(), "an object");
    GpuFields fields(name, at + ".", from);
    Gpu gpu;
    DeviceHardware& hardware = gpu.hardware;
    hardware.uuid = fields.Text("uuid");
    hardware.model = fields.Text("model");
    hardware.memory_mib = static_cast<std::int32_t>(fields.Number("memoryMiB", 0, 1, kMostMib));
    hardware.modes = fields.Modes("modes");
    hardware.split_count = static_cast<std::int32_t>(fields.Number("splitCount", 0, 1, 10'000));
    hardware.mig_model = fields.Text("migModel");
    gpu.unhealthy = fields.Text("unhealthy");
    hardware.healthy = fields.Flag("healthy", true) && gpu.unhealthy.empty();
    if (!hardware.healthy && gpu.unhealthy.empty()) gpu.unhealthy = "the file says so";
    gpu.minor =
        static_cast<int>(fields.Number("minor", static_cast<std::int64_t>(place), 0, 1'000'000));
    gpu.numa = static_cast<int>(fields.Number("numa", -1, -1, 32767));
    gpu.bus_id = fields.Text("busId");
    gpu.mig_mode = fields.Flag("migMode", false);
    gpu.reserved = fields.Flag("reserved", false);
    if (hardware.memory_mib == 0) fields.Wrong("memoryMiB", "absent", "a whole number from 1");
    if (hardware.uuid.empty() || !uuids.insert(hardware.uuid).second) {
      fields.Wrong("uuid", hardware.uuid, "a UUID, each once");
    }
    TEPHRA_RETURN_IF_ERROR(fields.status());
    gpus.devices.push_back(std::move(gpu));
  }
  return gpus;
}

absl::StatusOr<Gpus> GpuFile::Read() {
  TEPHRA_ASSIGN_OR_RETURN(const std::string text, ReadFileThroughLinks(path_, kMaxGpuFileBytes));
  return ParseGpuFile(path_, text);
}

}  // namespace tephra::node
