#include "plugins/node/partition/edits.h"

#include <algorithm>
#include <sstream>

namespace tephra::node {
namespace {

// Of the driver, for each container with any GPU (NVIDIA Container Toolkit, nvcdi).
constexpr const char* kDriverNodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                        "/dev/nvidia-uvm-tools"};
constexpr const char* kVisible = "NVIDIA_VISIBLE_DEVICES";
// Of a mount of /dev/null, the name in this folder is what is visible.
constexpr const char* kVisibleFolder = "/var/run/nvidia-container-devices/";

}  // namespace

const std::string* FindEnv(const Edits& edits, const std::string& name) {
  const auto found = std::find_if(edits.env.begin(), edits.env.end(),
                                  [&](const auto& env) { return env.first == name; });
  return found == edits.env.end() ? nullptr : &found->second;
}

void SetEnv(Edits& edits, const std::string& name, const std::string& value) {
  for (auto& [known, old] : edits.env) {
    if (known != name) continue;
    old = value;
    return;
  }
  edits.env.emplace_back(name, value);
}

void AppendEnv(Edits& edits, const std::string& name, const std::string& value) {
  const std::string* const before = FindEnv(edits, name);
  SetEnv(edits, name, before == nullptr ? value : *before + "," + value);
}

void AddDeviceNode(Edits& edits, const std::string& path) {
  auto& nodes = edits.device_nodes;
  if (std::find(nodes.begin(), nodes.end(), path) == nodes.end()) nodes.push_back(path);
}

void AddMount(Edits& edits, const Edits::Mount& mount) {
  auto& mounts = edits.mounts;
  if (std::find(mounts.begin(), mounts.end(), mount) == mounts.end()) mounts.push_back(mount);
}

void AddGpuNodes(Edits& edits, const Gpu& gpu) {
  for (const char* node : kDriverNodes) AddDeviceNode(edits, node);
  AddDeviceNode(edits, "/dev/nvidia" + std::to_string(gpu.minor));
}

void AddVisible(Edits& edits, const std::string& uuid) {
  AppendEnv(edits, kVisible, uuid);
  AppendEnv(edits, "CUDA_VISIBLE_DEVICES", uuid);
}

int AddGpu(Edits& edits, const Gpu& gpu) {
  const std::string* const before = FindEnv(edits, kVisible);
  const int place =
      before == nullptr ? 0 : 1 + static_cast<int>(std::count(before->begin(), before->end(), ','));
  AppendEnv(edits, kVisible, gpu.hardware.uuid);
  AddGpuNodes(edits, gpu);
  return place;
}

void AddVisibleMounts(Edits& edits) {
  const std::string* const visible = FindEnv(edits, kVisible);
  if (visible == nullptr) return;
  std::istringstream names(*visible);
  for (std::string name; std::getline(names, name, ',');) {
    AddMount(edits, {"/dev/null", kVisibleFolder + name, true});
  }
}

}  // namespace tephra::node
