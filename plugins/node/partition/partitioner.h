// Partitioner: makes the slices of one mode real on the hardware, and says what a container needs
// in order to see its slices and nothing else. There is one strategy for each SliceMode.
//
// Any thread, but at most one at a time for each GPU: GpuTasks sees to that. A call may take as
// long as the driver takes, so an implementation holds no lock while it calls the driver or runs a
// program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plugins/node/gpu.h"
#include "plugins/node/grant.h"
#include "topology/base/status.h"

namespace tephra::node {

// What is added to the container, by CDI or by its mounted directory.
struct Edits {
  struct Mount {
    std::string host;
    std::string container;
    bool read_only = true;

    bool operator==(const Mount&) const = default;
  };
  std::vector<std::pair<std::string, std::string>> env;  // each name once
  std::vector<std::string> device_nodes;                 // "/dev/nvidia0"; each once
  std::vector<Mount> mounts;

  bool operator==(const Edits&) const = default;
};

// Apply and Undo may be interrupted at any step, also by a crash, and are then called again: they
// find what was done and finish it.
class Partitioner {
 public:
  virtual ~Partitioner() = default;

  // Called once, before all else: the grants of an earlier process whose containers may still run.
  // Calls no driver.
  virtual void Remember(const std::vector<Grant>& live, const Gpus& gpus) {
    static_cast<void>(live), static_cast<void>(gpus);
  }
  // The GPUs, by UUID, on which an earlier process may have left something that belongs to no
  // remembered grant; "" stands for what belongs to no GPU. Tidy takes it away.
  virtual std::vector<std::string> Leftovers(const Gpus& gpus) const {
    static_cast<void>(gpus);
    return {};
  }
  virtual absl::Status Tidy(const std::string& uuid, const Gpus& gpus) {
    static_cast<void>(uuid), static_cast<void>(gpus);
    return absl::OkStatus();
  }

  // Makes the slices of `grant` that are of this mode, and adds to `edits`. If that fails, nothing
  // of the grant stays on the hardware. FAILED_PRECONDITION: the hardware, or what runs on it, does
  // not allow it, with the reason. UNAVAILABLE: it may work later.
  virtual absl::Status Apply(const Grant& grant, const Gpus& gpus, Edits& edits) = 0;

  // Removes what Apply made for `grant`, once no process of its container runs. OK if there is
  // nothing.
  virtual absl::Status Undo(const Grant& grant, const Gpus& gpus) = 0;
};

}  // namespace tephra::node
