// GpuSource: where the plugin learns which GPUs this node has and how they are.
#pragma once

#include <string>

#include "plugins/node/gpu.h"
#include "plugins/node/health.h"
#include "plugins/node/nvml/nvml.h"
#include "topology/base/status.h"

namespace tephra::node {

class GpuSource {
 public:
  virtual ~GpuSource() = default;

  // Of NVIDIA's driver; empty and 0 where there is none to ask.
  struct Driver {
    std::string version;
    int cuda = 0;  // 12040: 12.4
  };
  virtual Driver driver() const { return {}; }
  // Null where there are only descriptions of GPUs: then nothing can be cut by MIG or MPS.
  virtual const Nvml* nvml() const { return nullptr; }
  // Xids since this process began. Any thread.
  virtual XidCounts xids() const { return {}; }
  // The GPUs as they are now.
  virtual absl::StatusOr<Gpus> Read() = 0;
  // Readable when it is worth reading again; Drain makes it unreadable. -1: never.
  virtual int descriptor() const { return -1; }
  virtual void Drain() {}
};

}  // namespace tephra::node
