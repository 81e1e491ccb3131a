// MpsCutter: shares a GPU by NVIDIA's Multi-Process Service: one control daemon for each GPU, and
// for each container its share of threads and of memory.
//
// The shares are told to the container's processes by environment, and MPS keeps each process to
// them; so a container with two processes has twice its memory, and a program that clears its
// environment has the daemon's defaults. A daemon is started with its GPU's first container,
// outlives this process, and is ended after the last. It serves one user at a time: another one's
// processes would wait until all of the first have gone, so their containers are refused. Source:
// NVIDIA Multi-Process Service documentation; nvidia-cuda-mps-control(1).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/node/cut/cutter.h"
#include "plugins/node/cut/holders.h"
#include "plugins/node/cut/mps_daemons.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

class MpsCutter : public Cutter {
 public:
  struct Options {
    MpsDaemons::Options daemons;
    // What daemons have as /dev/shm, which containers need as theirs. Empty: it is not mounted.
    std::string shm;
    std::string pipe_in_container = "/tmp/nvidia-mps";
    // The user that a container runs as. Null, or no answer: not checked.
    std::function<std::optional<std::uint32_t>(const Holder&)> user_of;
  };
  // REQUIRES: `nvml` outlives it.
  MpsCutter(const Nvml& nvml, Options options);

  // Tells which grants have containers that live, once before any Cut. Ends the daemons of others.
  absl::Status Restore(const std::vector<Grant>& live, const Gpus& gpus) override;

  absl::Status Cut(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant& grant, const Gpus& gpus) override;

 private:
  absl::Status Check(const Grant& grant, const Gpu& gpu) const;
  void Add(const Grant& grant, const Gpus& gpus);
  void Remove(const Grant& grant);
  std::optional<std::uint32_t> UserOf(const Holder& holder) const;
  absl::Status Begin(const Gpu& gpu) const;
  absl::Status EndIfUnused(const std::string& uuid) const;

  const Nvml* nvml_;
  Options options_;
  MpsDaemons daemons_;
  Holders holders_{SliceMode::kMps};
  std::map<std::string, std::uint32_t> users_;  // by nonce; of a pod that is gone nobody tells it
};

}  // namespace tephra::node
