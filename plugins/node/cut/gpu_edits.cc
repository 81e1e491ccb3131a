#include "plugins/node/cut/gpu_edits.h"

#include <algorithm>

namespace tephra::node {
namespace {

std::string* FindVariable(const std::string& name, Edits& edits) {
  const auto found = std::find_if(edits.env.begin(), edits.env.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  return found == edits.env.end() ? nullptr : &found->second;
}

}  // namespace

void AppendToVariable(const std::string& name, const std::string& value, Edits& edits) {
  if (std::string* found = FindVariable(name, edits)) {
    *found += ',' + value;
  } else {
    edits.env.emplace_back(name, value);
  }
}

void SetVariable(const std::string& name, const std::string& value, Edits& edits) {
  if (std::string* found = FindVariable(name, edits)) {
    *found = value;
  } else {
    edits.env.emplace_back(name, value);
  }
}

void AddDeviceNode(const std::string& path, Edits& edits) {
  const auto& nodes = edits.device_nodes;
  if (std::find(nodes.begin(), nodes.end(), path) == nodes.end()) {
    edits.device_nodes.push_back(path);
  }
}

void AddGpuNodes(const Gpu& gpu, Edits& edits) {
  AddDeviceNode("/dev/nvidia" + std::to_string(gpu.minor), edits);
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}) {
    AddDeviceNode(node, edits);
  }
}

void AddVisible(const std::string& uuid, Edits& edits) {
  AppendToVariable("NVIDIA_VISIBLE_DEVICES", uuid, edits);
  AppendToVariable("CUDA_VISIBLE_DEVICES", uuid, edits);
}

}  // namespace tephra::node
