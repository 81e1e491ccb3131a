// What several partitioners add to one container: GPUs of different modes stand in one list.
#pragma once

#include <string>

#include "plugins/node/partition/partitioner.h"

namespace tephra::node {

// Puts the variable, in the place of an older value.
void SetEnv(Edits& edits, const std::string& name, const std::string& value);
// "a" becomes "a,b".
void AppendEnv(Edits& edits, const std::string& name, const std::string& value);
const std::string* FindEnv(const Edits& edits, const std::string& name);  // null: not set
void AddDeviceNode(Edits& edits, const std::string& path);
void AddMount(Edits& edits, const Edits::Mount& mount);

// The GPU's own node, and those of the driver.
void AddGpuNodes(Edits& edits, const Gpu& gpu);
// Makes a GPU or an instance of one, by its UUID, the one that NVIDIA's runtime and CUDA see.
void AddVisible(Edits& edits, const std::string& uuid);

// What any use of a GPU needs: its device node, the nodes of the driver, and its UUID in
// NVIDIA_VISIBLE_DEVICES, where NVIDIA's container runtime and libraries look. Returns the place of
// the GPU among the GPUs that the container sees.
int AddGpu(Edits& edits, const Gpu& gpu);

// Has NVIDIA's runtime find what NVIDIA_VISIBLE_DEVICES names by mounts instead, which no image and no variable of a pod
// can make. Source: NVIDIA Container Toolkit, accept-nvidia-visible-devices-as-volume-mounts.
void AddVisibleMounts(Edits& edits);

}  // namespace tephra::node
