// What containers of several modes need of a GPU: the driver's device nodes, and to be told which
// devices are theirs.
#pragma once

#include <string>

#include "plugins/node/cut/cutter.h"

namespace tephra::node {

// Sets the variable; one that is there already gets the value appended after a comma.
void AppendToVariable(const std::string& name, const std::string& value, Edits& edits);
// Sets the variable to this value.
void SetVariable(const std::string& name, const std::string& value, Edits& edits);
void AddDeviceNode(const std::string& path, Edits& edits);
// /dev/nvidia<minor> and those that every user of CUDA opens.
void AddGpuNodes(const Gpu& gpu, Edits& edits);
// Makes the device, by its UUID, visible to the runtime's hook and to CUDA.
void AddVisible(const std::string& uuid, Edits& edits);

}  // namespace tephra::node
