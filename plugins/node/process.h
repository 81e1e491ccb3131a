// Process: one tephra-node from its first line to its last.
#pragma once

#include "plugins/node/gpu_source.h"
#include "plugins/node/settings.h"
#include "topology/base/status.h"

namespace tephra::node {

// Serves until SIGTERM or SIGINT, which have to be blocked and are read from the descriptor.
absl::Status Serve(const Settings& settings, GpuSource& source, int signals);

// What Serve would do, in words, from all that can be read without changing anything.
absl::StatusOr<std::string> DryRun(const Settings& settings, GpuSource& source);

// Where a running one answers `tephra-node status`.
std::string StatusSocket(const BindingSettings& settings);

}  // namespace tephra::node
