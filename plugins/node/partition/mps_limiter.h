// MpsLimiter shares a GPU by NVIDIA's Multi-Process Service (MPS): a control daemon for each GPU,
// and for each container a limit of threads and of memory.
//
// The limits reach the processes of a container by environment variables, and MPS enforces them for
// each process. So a container with two processes has twice its memory. The daemon limits each
// process, too: to the share of the largest container on its GPU, which a program that clears its
// environment gets. A daemon starts with the first container of its GPU, outlives this process, and
// ends after the last. It serves one user at a time: processes of another user would wait until all
// of the first have ended. So containers of another user are refused, also containers whose user
// the pod does not say, and those of another namespace, because MPS isolates nothing.
// Source: NVIDIA Multi-Process Service documentation; nvidia-cuda-mps-control(1).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugins/node/partition/partitioner.h"
#include "plugins/node/partition/holders.h"
#include "plugins/node/partition/mps_daemons.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

class MpsLimiter : public Partitioner {
 public:
  struct Options {
    MpsDaemons::Options daemons;
    // The folder that daemons have as /dev/shm, which containers need as theirs. Empty: none.
    std::string shm;
    std::string pipe_in_container = "/tmp/nvidia-mps";
    // Containers of one daemon can write its pipes, and those of all daemons the same /dev/shm. Unless this is
    // set, they are of one namespace.
    bool across_namespaces = false;
    // The user that a container runs as. Null: not checked. No answer: the container is refused.
    std::function<std::optional<std::uint32_t>(const Holder&)> user_of;
  };
  // REQUIRES: `nvml` outlives it.
  MpsLimiter(const Nvml& nvml, Options options);

  void Remember(const std::vector<Grant>& live, const Gpus& gpus) override;
  std::vector<std::string> Leftovers(const Gpus& gpus) const override;
  // Ends the daemon of a GPU that no container shares by MPS.
  absl::Status Tidy(const std::string& uuid, const Gpus& gpus) override;

  absl::Status Apply(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant& grant, const Gpus& gpus) override;

 private:
  absl::Status Check(const Grant& grant, const Gpu& gpu, const Gpus& gpus) const;
  absl::Status CheckUser(const Holder& holder, const std::string& uuid) const;
  absl::Status CheckNamespace(const Holder& holder, const Gpu& gpu, const Gpus& gpus) const;
  void Add(const Grant& grant, const Gpus& gpus);
  void Remove(const Grant& grant);
  void RememberUser(const Holder& holder);
  void RememberShare(const Grant& grant);
  std::optional<std::uint32_t> UserOf(const Holder& holder) const;
  absl::Status Begin(const Gpu& gpu) const;
  // The daemon gives no client more than the largest container of its GPU has, whatever the
  // client's environment says.
  absl::Status LimitDaemon(const Gpu& gpu) const;
  absl::Status EndIfUnused(const std::string& uuid) const;

  const Nvml* nvml_;
  Options options_;
  MpsDaemons daemons_;
  Holders holders_{SliceMode::kMps};
  mutable std::mutex users_mutex_;
  std::map<std::string, std::uint32_t> users_;  // by nonce; it stays known when the pod is gone
  std::map<std::string, GrantedSlice> shares_;  // by nonce; guarded by users_mutex_ too
};

}  // namespace tephra::node
