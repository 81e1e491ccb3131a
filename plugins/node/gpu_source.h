// GpuSource: which GPUs this node has, and how they are. Read and driver may take as long as the
// driver does, and are called by one thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "plugins/node/gpu.h"
#include "plugins/node/health.h"
#include "plugins/node/nvml/nvml.h"
#include "topology/base/status.h"

namespace tephra::node {

class GpuSource {
 public:
  virtual ~GpuSource() = default;

  // Of NVIDIA's driver; empty and 0: there is no driver.
  struct Driver {
    std::string version;
    int cuda = 0;  // 12040: 12.4
  };
  virtual Driver driver() const { return {}; }
  // Null: there are only descriptions of GPUs, so MIG and MPS are not possible.
  virtual const Nvml* nvml() const { return nullptr; }
  // The call of the driver that has run for longer than `limit`; nothing: there is none. Any thread.
  virtual std::optional<std::string> Hung(std::chrono::steady_clock::duration limit) const {
    static_cast<void>(limit);
    return std::nullopt;
  }
  // Xids since this process began. Any thread.
  virtual XidCounts xids() const { return {}; }
  // The GPUs as they are now.
  virtual absl::StatusOr<Gpus> Read() = 0;
  // Readable when it is worth reading again; Drain makes it unreadable. -1: never.
  virtual int descriptor() const { return -1; }
  virtual void Drain() {}
};

}  // namespace tephra::node
