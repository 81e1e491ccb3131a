// MpsDaemons: the control daemons of NVIDIA's Multi-Process Service on this node, one for each GPU
// that containers share by it. Source: nvidia-cuda-mps-control(1).
//
// A daemon ends with the pod that it was started in. So where tephra-node runs in a pod, another
// one starts them (mps_keeper.h), which an update of tephra-node leaves alone: what is wanted is
// said by files, and commands go by the pipes of the daemons, both on the host.
#pragma once

#include <string>
#include <utility>

#include "topology/base/status.h"

namespace tephra::node {

class MpsDaemons {
 public:
  struct Options {
    std::string control = "nvidia-cuda-mps-control";
    std::string root = "/run/tephra/mps";  // holds a folder for each GPU, and what is wanted
    bool kept = false;                     // another process starts them
    int timeout_ms = 10'000;               // for each command, and until a kept one is there
  };
  explicit MpsDaemons(Options options) : options_(std::move(options)) {}

  // What processes that use the GPU's daemon need as CUDA_MPS_PIPE_DIRECTORY.
  std::string PipeFolder(const std::string& uuid) const { return Folder(uuid, "pipe"); }

  // The GPU's daemon answers when this returns. Unavailable: where another process starts it, it
  // has not.
  absl::Status Begin(const std::string& uuid) const;
  // The GPU's, if it has one, has ended when this returns. False: there was none since Forget.
  absl::StatusOr<bool> End(const std::string& uuid) const;
  // What an ended one leaves.
  void Forget(const std::string& uuid) const;

  // For who keeps them: the folder whose files are named for GPUs that are to have a daemon, and
  // what makes it so for all of them. The first fault; the others are tried all the same.
  std::string WantedFolder() const { return options_.root + "/wanted"; }
  absl::Status StartWanted() const;

 private:
  absl::Status Answer(const std::string& uuid) const;
  absl::Status Start(const std::string& uuid) const;
  absl::Status WaitForKept(const std::string& uuid) const;
  absl::StatusOr<std::string> Tell(const std::string& uuid, const std::string& command) const;
  std::string Folder(const std::string& uuid, const char* name) const;
  std::string Wanted(const std::string& uuid) const { return WantedFolder() + "/" + uuid; }

  Options options_;
};

}  // namespace tephra::node
