// Cutter: makes the slices of one mode real on the hardware, and says what a container has to have
// in order to see them and nothing else. One strategy for each SliceMode.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plugins/node/gpu.h"
#include "plugins/node/grant.h"
#include "topology/base/status.h"

namespace tephra::node {

// What is added to the container, through CDI or through its directory.
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

// Called by one thread at a time. Both calls may be cut off at any step, by a crash too, and are
// then made again: they find what was done and finish it.
class Cutter {
 public:
  virtual ~Cutter() = default;

  // Told once, before any Cut, which grants have containers that may live, from before this process
  // began. What the hardware has beside them may be taken away.
  virtual absl::Status Restore(const std::vector<Grant>& live, const Gpus& gpus) {
    static_cast<void>(live), static_cast<void>(gpus);
    return absl::OkStatus();
  }

  // Makes those of `grant`'s slices that are of this cutter's mode, and adds to `edits`. Where that
  // fails nothing of it stays on the hardware. FailedPrecondition: the hardware, or what runs on
  // it, does not allow it, with the reason; Unavailable: it may work later.
  virtual absl::Status Cut(const Grant& grant, const Gpus& gpus, Edits& edits) = 0;

  // Takes back what Cut made for `grant`, once nothing of its container runs. OK where there is
  // nothing.
  virtual absl::Status Undo(const Grant& grant, const Gpus& gpus) = 0;
};

}  // namespace tephra::node
