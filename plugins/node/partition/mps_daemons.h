// MpsDaemons: the control daemons of NVIDIA's Multi-Process Service on this node, one for each GPU
// that containers share by it. Source: nvidia-cuda-mps-control(1).
//
// A daemon ends with the pod that it was started in. So if tephra-node runs in a pod, another pod
// starts the daemons (mps_keeper.h), which an update of tephra-node does not touch: files say which
// daemons are wanted, and commands go through the pipes of the daemons, both on the host. While a
// daemon is being started, a lock on the GPU's file keeps other processes from ending it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "topology/base/status.h"

namespace tephra::node {

class MpsDaemons {
 public:
  struct Options {
    std::string control = "nvidia-cuda-mps-control";
    std::string root = "/run/tephra/mps";  // holds a folder for each GPU, and what is wanted
    bool kept = false;                     // another process starts them
    int timeout_ms = 10'000;               // for each command
  };
  explicit MpsDaemons(Options options) : options_(std::move(options)) {}

  bool kept() const { return options_.kept; }
  // What processes that use the GPU's daemon need as CUDA_MPS_PIPE_DIRECTORY.
  std::string PipeFolder(const std::string& uuid) const { return Folder(uuid, "pipe"); }

  // The GPU's daemon answers when this returns. Unavailable: another process has not started it
  // yet, and goes on trying.
  absl::Status Begin(const std::string& uuid) const;
  // Limits what the GPU's daemon and its servers give to a client: percent of the threads, and MiB
  // of memory. A client's own limit can only be lower. REQUIRES: the daemon answers.
  absl::Status Limit(const std::string& uuid, int percent, std::int64_t memory_mib) const;
  // The GPU's daemon, if it has one, has ended when this returns. False: there was none since
  // Forget. Unavailable: it does not end, or is just being started.
  absl::StatusOr<bool> End(const std::string& uuid) const;
  // What an ended one leaves.
  void Forget(const std::string& uuid) const;
  // GPUs, by UUID, of which End may have something to do; sorted.
  std::vector<std::string> Known() const;

  // For the keeper: the folder with a file for each GPU that needs a daemon, and the call that starts
  // them. Returns the first error, after all were tried.
  std::string WantedFolder() const { return options_.root + "/wanted"; }
  absl::Status StartWanted() const;

 private:
  absl::Status Answer(const std::string& uuid) const;
  absl::Status Start(const std::string& uuid) const;
  absl::Status StartIfWanted(const std::string& uuid) const;
  absl::StatusOr<std::string> Tell(const std::string& uuid, const std::string& command) const;
  std::string Folder(const std::string& uuid, const char* name) const;
  std::string Wanted(const std::string& uuid) const { return WantedFolder() + "/" + uuid; }
  std::string Lock(const std::string& uuid) const { return options_.root + "/lock-" + uuid; }

  Options options_;
};

}  // namespace tephra::node
