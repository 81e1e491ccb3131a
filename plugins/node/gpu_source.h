// GpuSource: where the plugin learns which GPUs this node has and how they are.
#pragma once

#include "plugins/node/gpu.h"
#include "topology/base/status.h"

namespace tephra::node {

class GpuSource {
 public:
  virtual ~GpuSource() = default;

  // The GPUs as they are now.
  virtual absl::StatusOr<Gpus> Read() = 0;
  // Readable when it is worth reading again; Drain makes it unreadable. -1: never.
  virtual int descriptor() const { return -1; }
  virtual void Drain() {}
};

}  // namespace tephra::node
